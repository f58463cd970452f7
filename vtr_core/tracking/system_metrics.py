"""Utilisation of this machine: CPU, memory, disk, network and GPUs, under the names that MLflow's pages expect.

Sampled here with MLflow's own monitors and logged with a run's points: so they are kept in metrics.jsonl like the
others while MLflow is unreachable, and are logged at optimiser steps.
"""

import logging
import os
import threading
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from mlflow.system_metrics.metrics.base_metrics_monitor import BaseMetricsMonitor

logger = logging.getLogger(__name__)
_SWITCH, _INTERVAL = "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL"
_EVERY_S = 10.0


def sampling_interval() -> float | None:
    """Seconds between two samples, 10 or as MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL says.

    None, no samples, where MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING is false.
    """
    if os.environ.get(_SWITCH, "").strip().lower() in ("false", "0"):
        return None
    given = os.environ.get(_INTERVAL) or _EVERY_S
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ConfigError(f"{_INTERVAL} is {given!r}; it must be a number of seconds greater than 0")
    return seconds


class SystemMeter:
    """Samples this machine in a thread until it is closed."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._monitors = _monitors()
        self._has_sample = False
        self._thread = threading.Thread(target=self._sample, name="system-meter", daemon=True)
        self._thread.start()

    def read(self) -> dict[str, float]:
        """`system/…`: means over the samples since the last reading, network since the start; none without samples."""
        with self._lock:
            if not self._has_sample:
                return {}
            values = {
                f"system/{name}": float(v) for one in self._monitors for name, v in one.aggregate_metrics().items()
            }
            for one in self._monitors:
                one.clear_metrics()
            self._has_sample = False
            return values

    def close(self) -> None:
        """Stop sampling."""
        self._closing.set()
        self._thread.join(timeout=self._every_s)

    def _sample(self) -> None:
        while True:
            try:
                with self._lock:
                    for one in self._monitors:
                        one.collect_metrics()
                    self._has_sample = True
            except Exception as error:  # drivers and kernel tables may raise anything
                logger.warning("no more system metrics: %s", error)
                return
            if self._closing.wait(self._every_s):
                return


def _monitors() -> "list[BaseMetricsMonitor]":
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
    from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor

    monitors: list[BaseMetricsMonitor] = [CPUMonitor(), DiskMonitor(), NetworkMonitor()]
    try:
        monitors.append(GPUMonitor())
    except Exception as error:  # no GPU, or no driver for it, for which NVML has many errors
        logger.info("no GPU metrics: %s", error)
    return monitors
