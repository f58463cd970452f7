"""The package has one version."""

import tomllib
from pathlib import Path

import vtr_core


def test_the_code_knows_the_version_that_it_is_installed_as() -> None:
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert vtr_core.__version__ == tomllib.loads(project.read_text())["project"]["version"]
