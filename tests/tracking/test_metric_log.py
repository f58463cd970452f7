"""Metrics are in the file whatever MLflow does, in order, and once."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from vtr_core.storage import locate
from vtr_core.tracking.flatten import flatten
from vtr_core.tracking.metric_log import MetricLog
from vtr_core.tracking.run import TrackedRun, open_run


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_without_mlflow_the_file_has_every_point(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    log = MetricLog(locate(str(path)), None)
    for step in (1, 2, 3):
        log.add({"train/loss": 1 / step}, step)
    log.close()
    assert [(line["step"], line["train/loss"]) for line in lines(path)] == [(1, 1.0), (2, 0.5), (3, 1 / 3)]


def test_a_resumed_run_drops_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"step": 4, "tra')
    MetricLog(locate(str(path)), None, after_step=2).add({"a": 1.0}, 3)
    assert [line["step"] for line in lines(path)] == [1, 2, 3]


def test_mlflow_gets_every_point(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    run = open_run(uri, "vtr", "name", {"preset": "p"})
    assert run is not None
    log = MetricLog(locate(str(tmp_path / "metrics.jsonl")), run)
    for step in range(5):
        log.add({"train/loss": float(step), "val/t2v/r1": 1.0}, step)
    log.close()
    run.finish("FINISHED")
    client = MlflowClient(uri)
    assert [m.value for m in client.get_metric_history(run.run_id, "train/loss")] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert client.get_run(run.run_id).info.status == "FINISHED"
    assert client.get_run(run.run_id).info.run_name == "name"


class _Flaky(TrackedRun):
    """A store that is away for the first two calls."""

    calls: list[int] = []  # noqa: RUF012

    def log_metrics(self, metrics: object, step: int, timestamp_ms: int) -> None:  # type: ignore[override]
        self.calls.append(step)
        if len(self.calls) <= 2:
            raise OSError("away")


def test_points_wait_while_mlflow_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.tracking.metric_log.time.sleep", lambda seconds: None)
    log = MetricLog(locate(str(tmp_path / "metrics.jsonl")), _Flaky("", "", ""))
    log.add({"a": 1.0}, 1)
    log.add({"a": 2.0}, 2)
    log.close()
    assert _Flaky.calls == [1, 1, 1, 2]


def test_an_unreachable_store_gives_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert open_run(f"sqlite:///{tmp_path}/file/none/mlflow.db", "vtr", "name", {}) is None


def test_settings_are_flattened() -> None:
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1, 2]}) == {"a.b": 1, "a.c": {}, "d": [1, 2]}
