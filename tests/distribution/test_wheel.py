"""The wheel: what it holds, and that it works where nothing else of the repository is."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.distribution.project import PROJECT, ROOT

PACKAGES = ("vtr_core", "pipelines", "cluster", "tune_spaces")
ABOUT = ("LICENSE", "NOTICE", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since setuptools writes beside what it builds."""
    source = tmp_path_factory.mktemp("source")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", *ABOUT):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (source / "dist").iterdir()
    return built


def test_it_holds_all_that_is_not_made_again(wheel: Path) -> None:
    """Every file of the packages: code, templates, the tagger, cluster files, the mark of types; and who may use it."""
    held = set(zipfile.ZipFile(wheel).namelist())
    files = {file for name in PACKAGES for file in (ROOT / name).rglob("*") if file.is_file()}
    expected = {str(file.relative_to(ROOT)) for file in files if "__pycache__" not in file.parts}
    about = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    assert {name for name in held if not name.startswith(about)} == expected
    assert {f"{about}/licenses/{name}" for name in ABOUT} <= held


def test_the_notice_names_a_folder_of_the_wheel(wheel: Path) -> None:
    folder = "vtr_core/text/tagging/tagger_en_ewt/"
    assert folder in (ROOT / "NOTICE").read_text()
    assert any(name.startswith(folder) for name in zipfile.ZipFile(wheel).namelist())


def test_what_to_cite() -> None:
    """By the schema of the format; the release is this one."""
    validator = Path(sys.executable).parent / "check-jsonschema"
    command = [validator, "--builtin-schema", "vendor.citation-file-format", ROOT / "CITATION.cff"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"]
    assert len(cited["references"]) == 6


@pytest.mark.long
def test_in_a_fresh_environment_it_says_how_it_is_and_shows_itself(wheel: Path, tmp_path: Path) -> None:
    """Installed as by anybody, pinned; needs the index that pip is set to, and takes minutes."""
    place, work = tmp_path / "environment", tmp_path / "elsewhere"
    work.mkdir()
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    _run([place / "bin" / "pip", "install", "--constraint", ROOT / "constraints.txt", wheel], work)
    assert "nothing that is needed is broken" in _run([place / "bin" / "vtr", "doctor"], work)
    printed = _run([place / "bin" / "vtr", "demo", "--films", "180"], work)
    for word in ("text → video", "mlflow ui", "your own films"):
        assert word in printed


def _run(command: list[str | Path], work: Path) -> str:
    """What it prints; away from the repository, its environment and a Ray that may be there."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "MLFLOW_TRACKING_URI", "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["RAY_ADDRESS"] = "local"
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
