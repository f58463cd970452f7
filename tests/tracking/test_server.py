"""Runs, registered models and their artifacts through an MLflow server."""

from pathlib import Path

import mlflow.pyfunc
import numpy as np
import pandas as pd
import pytest

from tests.builders.toy import toy_dataset
from tests.drills.test_mlflow import free_port, server
from tests.tracking.models.test_registry import NAME, close, embedded, saved, table
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.models.registry import register_checkpoint
from vtr_core.tracking.run import Point, open_run
from vtr_core.train.checkpoint import load_model

pytestmark = [pytest.mark.integration, pytest.mark.long]


def test_a_checkpoint_is_registered_and_loaded_through_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    uri = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with server(tmp_path / "server", port):
        register_and_load(uri, tmp_path)


def register_and_load(uri: str, tmp_path: Path) -> None:
    data = toy_dataset(tmp_path / "data")[0]
    checkpoint = saved(data, tmp_path / "checkpoint", seed=0)
    expected = embedded(checkpoint, data)
    run = open_run(uri, "vtr", "a run", {"preset": "p"})
    assert run is not None
    run.log_params({f"a.{i}": i for i in range(150)})
    run.log_points([Point("val/t2v/r1", float(step), step, 1) for step in range(300)])
    run.log_input(data, "training")
    run.log_json("config.json", {"seed": 0})
    run.log_checkpoint("p", checkpoint, [Point("val/t2v/r1", 12.5, 7, 1)], 7)
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS) == "1"
    run.finish("FINISHED")
    (tmp_path / "checkpoint").rename(tmp_path / "gone")
    assert run.steps("val/t2v/r1") == set(range(300))
    assert [file.path for file in run.client.list_artifacts(run.run_id)] == ["config.json"]
    assert run.client.get_model_version(NAME, "1").source.startswith("mlflow-artifacts:/")
    found = mlflow.pyfunc.load_model(f"models:/{NAME}@champion").predict(table(data)[["caption", "video"]])
    for name in ("text", "video"):
        close(np.stack(found[name].to_list()), expected.vectors[name])
    assert load_model(f"models:/{NAME}@champion").uri == f"models:/{NAME}/1"
    (model,) = run.client.search_logged_models([run.client.get_run(run.run_id).info.experiment_id])
    assert [metric.value for metric in model.metrics] == [12.5]
    assert "mlflow.modelVersions" in model.tags
    assert isinstance(found, pd.DataFrame)
