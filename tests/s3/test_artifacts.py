"""MLflow's artifacts on a store: written, and where the store refuses, missing without harm."""

from pathlib import Path

import mlflow.artifacts
import pytest
from mlflow import MlflowClient

from tests.s3.proxy import Answer, Proxy
from vtr_core.tracking.run import TrackedRun, failures, open_run


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


def test_a_store_that_refuses_is_a_failure_that_is_expected(
    tmp_path: Path, folder: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(tmp_path, folder)
    monkeypatch.setenv("MLFLOW_S3_ENDPOINT_URL", proxy.endpoint)  # MLflow keeps clients by it
    proxy.always = Answer(403, "AccessDenied")
    with pytest.raises(failures()):
        run.log_json("values.json", {"one": 1})
