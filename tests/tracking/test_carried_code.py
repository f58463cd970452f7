"""A registered model carries its code and names what can be installed: that is all it needs."""

import json
import subprocess
import sys
from pathlib import Path

import mlflow.pyfunc
import numpy as np
import pytest
from packaging.requirements import Requirement

import vtr_core
from tests.tracking import only_requirements
from tests.tracking.written_models import PRESETS, written_model
from vtr_core.tracking.models.model_folder import requirement

PACKAGE = Path(vtr_core.__file__).parent


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {name: written_model(folder / name, name) for name in PRESETS}


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow leaves a model's folder on Python's path."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.long
def test_models_of_every_system_load_where_only_their_requirements_are_installed(
    models: dict[str, Path], tmp_path: Path
) -> None:
    words = [sys.executable, "-I", only_requirements.__file__, "out.json", *map(str, models.values())]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for model, found in zip(models.values(), json.loads((tmp_path / "out.json").read_text()), strict=True):
        loaded = mlflow.pyfunc.load_model(str(model))
        expected = loaded.predict(loaded.input_example).to_dict(orient="list")
        assert found.keys() == expected.keys()
        for name, (value,) in expected.items():
            if isinstance(value, np.ndarray):
                np.testing.assert_allclose(found[name][0], value, rtol=1e-5, atol=1e-6)
            else:
                assert found[name] == [value]


def test_the_requirements_can_be_installed_anywhere(models: dict[str, Path]) -> None:
    for model in models.values():
        found = [Requirement(line) for line in (model / "requirements.txt").read_text().splitlines()]
        names = {one.name for one in found}
        assert {"mlflow", "torch"} <= names
        assert not names & {"vtr", "vtr-ray", "ray", "boto3"}
        assert all(str(one.specifier) and one.url is None and "+" not in str(one.specifier) for one in found)
        assert "+" not in (model / "conda.yaml").read_text()


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ("2.13.0", "torch==2.13.0"),
        ("2.13.0+cpu", "torch==2.13.0"),
        ("2.8.0.post1+cu128", "torch==2.8.0.post1"),
        ("2.8.0a0+5228986c39.nv25.6", "torch>=2.8.0a0"),
        ("2.14.0.dev20260101+cu130", "torch>=2.14.0.dev20260101"),
    ],
)
def test_a_build_of_ones_own_is_the_release_it_is_of(installed: str, expected: str) -> None:
    assert requirement("torch", installed) == expected
    assert Requirement(expected).specifier.contains(installed, prereleases=True)


def test_a_model_has_a_copy_of_the_package(models: dict[str, Path]) -> None:
    copied = models[PRESETS[0]] / "code" / "vtr_core"
    held = {file.relative_to(copied): file.read_bytes() for file in copied.rglob("*.py")}
    assert held == {file.relative_to(PACKAGE): file.read_bytes() for file in PACKAGE.rglob("*.py")}


def test_the_working_directorys_project_is_not_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\nversion = "1"\n')
    (tmp_path / "uv.lock").write_text('version = 1\nrequires-python = ">=3.11"\n')
    monkeypatch.chdir(tmp_path)
    model = written_model(tmp_path / "made", PRESETS[0])
    assert {file.name for file in model.iterdir()} == {
        "MLmodel",
        "code",
        "conda.yaml",
        "data",
        "input_example.json",
        "python_env.yaml",
        "requirements.txt",
        "serving_input_example.json",
    }
