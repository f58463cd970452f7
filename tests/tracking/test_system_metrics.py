"""The use of the machine is logged beside training, as the environment says."""

import time

import pytest
from mlflow import MlflowClient

from vtr_core.errors import ConfigError
from vtr_core.tracking.environment import system_metrics
from vtr_core.tracking.run import TrackedRun, open_run

MEMORY = "system/system_memory_usage_percentage"


@pytest.fixture(autouse=True)
def as_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests have the samples switched off."""
    monkeypatch.delenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", raising=False)


def test_samples_are_logged_meanwhile(tracking_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "0.05")
    run = open_run(tracking_store, "vtr", "name", {})
    assert run is not None
    client, deadline = MlflowClient(run.tracking_uri), time.monotonic() + 3600
    with system_metrics(run):
        while not client.get_metric_history(run.run_id, MEMORY):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert 0 < client.get_run(run.run_id).data.metrics[MEMORY] < 100


def test_an_interval_that_is_no_number_is_named(tracking_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "often")
    run = open_run(tracking_store, "vtr", "name", {})
    with pytest.raises(ConfigError, match=r"'often'.*MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL"), system_metrics(run):
        raise AssertionError("it began")


def test_a_store_that_is_away_shows_no_password(capfd: pytest.CaptureFixture[str]) -> None:
    with system_metrics(TrackedRun("http://user:pass-word-7@127.0.0.1:1", "vtr", "run")):
        pass
    captured = capfd.readouterr()
    assert "pass-word-7" not in captured.out + captured.err
