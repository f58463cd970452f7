"""A checkpoint on an object store is registered by reference: nothing is copied, and it must be the same one later."""

from pathlib import Path

import mlflow.pyfunc
import pandas as pd
import pytest

from tests.builders.toy import toy_dataset
from tests.s3.store import fetch
from tests.tracking.models.test_registry import NAME, saved
from vtr_core import storage
from vtr_core.errors import CheckpointError
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.models.registry import register_checkpoint
from vtr_core.tracking.run import TrackedRun, open_run
from vtr_core.train.checkpoint import load_model


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrackedRun:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    run = open_run(uri, "vtr", "run", {})
    assert run is not None
    return run


def uploaded(place: Path, uri: str) -> str:
    for file in place.iterdir():
        storage.write_bytes(locate(uri) / file.name, file.read_bytes())
    return uri


def test_only_its_uri_and_hash_are_kept(tmp_path: Path, folder: str, run: TrackedRun) -> None:
    data = toy_dataset(tmp_path / "data")[0]
    saved(data, tmp_path / "first", seed=0)
    uri = uploaded(tmp_path / "first", f"{folder}/step-00000007")
    register_checkpoint(run, uri, NAME, SYSTEMS)
    files = {file.name for file in (tmp_path / "mlartifacts").rglob("*") if file.is_file()}
    assert "reference.json" in files
    (requirements,) = (tmp_path / "mlartifacts").rglob("requirements.txt")
    assert "boto3==" in requirements.read_text()
    assert "model.safetensors" not in files
    version = run.client.get_model_version(NAME, "1")
    assert version.tags["checkpoint.kept"] == "reference"
    assert "no copy: keep the checkpoint" in str(version.description)
    model = mlflow.pyfunc.load_model(f"models:/{NAME}@champion")
    assert model.predict(pd.DataFrame({"caption": ["video number1"]}))["text"][0].shape == (4,)
    assert load_model(f"models:/{NAME}@champion").progress.step == 7
    saved(data, tmp_path / "second", seed=1)
    uploaded(tmp_path / "second", uri)
    for load in (load_model, mlflow.pyfunc.load_model):
        with pytest.raises(CheckpointError, match="is not the checkpoint that was registered"):
            load(f"models:/{NAME}/1")
    storage.delete_folder(locate(uri))
    with pytest.raises(CheckpointError, match=f"the model is the checkpoint {uri}, which is not there any more"):
        load_model(f"models:/{NAME}/1")


def test_artifacts_on_the_store_hold_a_copy_of_a_local_checkpoint(
    tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracking = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking)
    mlflow.MlflowClient(tracking).create_experiment("on-store", artifact_location=f"{folder}/artifacts")
    run = open_run(tracking, "on-store", "run", {})
    assert run is not None
    data = toy_dataset(tmp_path / "data")[0]
    register_checkpoint(run, saved(data, tmp_path / "here", seed=0), NAME, SYSTEMS)
    (tmp_path / "here").rename(tmp_path / "gone")
    copies = fetch(f"{folder}/artifacts", tmp_path / "fetched")
    assert [file.parent.name for file in copies.rglob("model.safetensors")] == ["checkpoint"]
    assert load_model(f"models:/{NAME}@champion").uri == f"models:/{NAME}/1"
