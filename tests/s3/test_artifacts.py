"""Runs, models and concept tables whose artifacts lie on a store."""

from pathlib import Path

import mlflow.artifacts
import mlflow.pyfunc
import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient

from pipelines import concepts as concepts
from tests.builders.captioned import captioned_videos
from tests.builders.toy import toy_dataset
from tests.s3.proxy import Answer, Proxy
from tests.s3.store import fetch
from tests.tracking.models.test_registry import NAME, saved
from vtr_core import storage
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.errors import CheckpointError
from vtr_core.fingerprint import key64
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.models.registry import register_checkpoint
from vtr_core.tracking.run import TrackedRun, open_run, quietly
from vtr_core.train.checkpoint import load_model


def _run(tmp_path: Path, folder: str) -> TrackedRun:
    """A run of an experiment whose artifacts go to the store."""
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    MlflowClient(uri).create_experiment("on-store", artifact_location=folder)
    run = open_run(uri, "on-store", "run", {})
    assert run is not None
    return run


def test_artifacts_go_to_the_store(tmp_path: Path, folder: str) -> None:
    run = _run(tmp_path, folder)
    run.log_json("values.json", {"one": 1})
    where = run.client.get_run(run.run_id).info.artifact_uri
    assert where is not None
    assert where.startswith(folder)
    assert mlflow.artifacts.load_dict(f"{where}/values.json") == {"one": 1}


def test_a_store_that_refuses_costs_the_log_alone(
    tmp_path: Path,
    folder: str,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = _run(tmp_path, folder)
    monkeypatch.setenv("MLFLOW_S3_ENDPOINT_URL", proxy.endpoint)  # MLflow keeps clients by it
    proxy.always = Answer(403, "AccessDenied")
    with quietly(run):
        run.log_json("values.json", {"one": 1})
    assert "cannot be used" in caplog.text


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


@pytest.mark.long
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


CAPTIONS = {"a": ["a dog runs", "two dogs run"], "b": ["a man", "the man"]}


def test_a_concept_table_is_that_of_a_disk(folder: str, tmp_path: Path) -> None:
    captioned_videos(folder, CAPTIONS)  # type: ignore[arg-type]
    captioned_videos(tmp_path / "d", CAPTIONS)
    for uri in (folder, str(tmp_path / "d")):
        concepts.main([uri, "--processes", "1"])
    on_store, on_disk = ConceptTable.load(f"{folder}/concepts"), ConceptTable.load(str(tmp_path / "d" / "concepts"))
    assert on_store.fingerprint == on_disk.fingerprint
    keys = np.array([key64("b"), key64("a")])
    np.testing.assert_array_equal(on_store.soft_labels(keys, 3), on_disk.soft_labels(keys, 3))
