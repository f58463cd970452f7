"""The machine is sampled beside training, and what a sample lacks or raises does not disturb it."""

import time

import pytest
from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor

from vtr_core.errors import ConfigError
from vtr_core.tracking.environment import SystemMeter, sampling_interval


def wait_for_values(meter: SystemMeter) -> dict[str, float]:
    deadline = time.monotonic() + 3600
    while not (values := meter.read()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return values


def test_samples_are_averaged_between_two_readings() -> None:
    meter = SystemMeter(60)
    values = wait_for_values(meter)
    meter.close()
    assert {"system/cpu_utilization_percentage", "system/system_memory_usage_percentage"} <= values.keys()
    assert 0 < values["system/system_memory_usage_percentage"] < 100
    meter.read()
    assert meter.read() == {}


def test_a_monitor_that_fails_ends_the_samples_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: object) -> None:
        raise OSError("no /proc")

    monkeypatch.setattr(CPUMonitor, "collect_metrics", fail)
    meter = SystemMeter(60)
    meter.close()
    assert meter.read() == {}
    assert "no more system metrics: no /proc" in caplog.text


@pytest.mark.parametrize(
    ("switch", "interval", "expected"),
    [(None, None, 10.0), ("true", "2.5", 2.5), ("False", "2.5", None), ("0", None, None)],
)
def test_the_interval_is_the_users(
    switch: str | None, interval: str | None, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL")
    for name, value in zip(names, (switch, interval), strict=True):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert sampling_interval() == expected


@pytest.mark.parametrize("interval", ["0", "-1", "often", "inf", "nan"])
def test_an_interval_that_is_none_is_named(interval: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "true")
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", interval)
    with pytest.raises(ConfigError, match="it must be a number of seconds"):
        sampling_interval()
