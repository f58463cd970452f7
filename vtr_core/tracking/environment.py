"""Environment of a run: code, packages, machine, GPUs and cluster, and the utilisation of the machine."""

import logging
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import psutil
import pynvml

import vtr_core
from vtr_core.errors import ConfigError
from vtr_core.ray_private import submission_id

if TYPE_CHECKING:
    from mlflow.system_metrics.metrics.base_metrics_monitor import BaseMetricsMonitor


def environment(cluster: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Versions of all installed packages, and this machine; `cluster`: Ray's resources by name."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "gpus": gpus(),
        "cluster": dict(cluster or {}),
        "packages": dict(_packages()),
    }


@cache
def _packages() -> Mapping[str, str]:
    """Name and version of the installed packages, by name; read once, as that takes longer than all else here."""
    said = [found.metadata for found in metadata.distributions()]
    packages = {one["Name"]: one["Version"] for one in said if one["Name"] is not None}
    return dict(sorted(packages.items(), key=lambda pair: pair[0].lower()))


def gpus() -> list[dict[str, Any]]:
    """Name, memory and driver of this machine's NVIDIA GPUs; the query allocates no GPU memory."""
    try:
        pynvml.nvmlInit()
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [
            {
                "name": _text(pynvml.nvmlDeviceGetName(handle)),
                "memory_gb": round(pynvml.nvmlDeviceGetMemoryInfo(handle).total / 1e9, 1),
                "driver": driver,
            }
            for handle in handles
        ]
    except pynvml.NVMLError:
        return []


def _text(value: str | bytes) -> str:
    """The text of a value, which older bindings return as bytes."""
    return value.decode() if isinstance(value, bytes) else value


_PACKAGES = ("ray", "torch", "pyarrow", "mlflow", "numpy")


def provenance() -> dict[str, str]:
    """Git commit and branch of the working directory, versions that results depend on, the machine, Ray's job."""
    versions = {f"version.{name}": metadata.version(name) for name in _PACKAGES}
    return {
        **git_tags(),
        **job_tags(),
        "version.vtr": vtr_core.__version__,
        "version.python": platform.python_version(),
        **versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def git_tags(folder: str = ".") -> dict[str, str]:
    """`git.commit` (with `-dirty` where files were changed) and `git.branch`, where `folder` is in a repository.

    A submitted job has no repository: whoever submits it sets VTR_GIT_COMMIT and VTR_GIT_BRANCH.
    """
    commit = os.environ.get("VTR_GIT_COMMIT") or _commit(folder)
    branch = os.environ.get("VTR_GIT_BRANCH") or _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return {name: value for name, value in (("git.commit", commit), ("git.branch", branch)) if value}


def job_tags() -> dict[str, str]:
    """`ray.submission_id`, where this is a job that was submitted to Ray."""
    told = submission_id(os.environ)
    return {} if told is None else {"ray.submission_id": told}


def _commit(folder: str) -> str:
    commit = _git(folder, "rev-parse", "HEAD")
    dirty = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if commit and dirty else commit


def _git(folder: str, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


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
