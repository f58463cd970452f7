"""Environment of a run: code, packages, machine, GPUs and cluster, and the use of the machine meanwhile."""

import logging
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from typing import Any

import psutil
import pynvml

import vtr_core
from vtr_core.errors import ConfigError
from vtr_core.ray_private import JOB_CONFIG, submission_id
from vtr_core.tracking.run import TrackedRun
from vtr_core.tracking.store import open_client


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
    installed = [distribution.metadata for distribution in metadata.distributions()]
    packages = {package["Name"]: package["Version"] for package in installed if package["Name"] is not None}
    return dict(sorted(packages.items(), key=lambda pair: pair[0].lower()))


def gpus() -> list[dict[str, Any]]:
    """Name, memory and driver of this machine's NVIDIA GPUs; the query allocates no GPU memory."""
    try:
        pynvml.nvmlInit()
        driver = pynvml.nvmlSystemGetDriverVersion()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [
            {
                "name": pynvml.nvmlDeviceGetName(handle),
                "memory_gb": round(pynvml.nvmlDeviceGetMemoryInfo(handle).total / 1e9, 1),
                "driver": driver,
            }
            for handle in handles
        ]
    except pynvml.NVMLError:
        return []


_PACKAGES = ("ray", "torch", "pyarrow", "mlflow", "numpy")


def provenance() -> dict[str, str]:
    """Git commit and branch of the working directory, versions that results depend on, the machine, Ray's job."""
    job = submission_id(os.environ) if JOB_CONFIG in os.environ else None
    versions = {f"version.{name}": metadata.version(name) for name in _PACKAGES}
    return {
        **git_tags(),
        **({} if job is None else {"ray.submission_id": job}),
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


def _commit(folder: str) -> str:
    commit = _git(folder, "rev-parse", "HEAD")
    dirty = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if commit and dirty else commit


def _git(folder: str, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip()  # a branch's name may be any bytes


@contextmanager
def system_metrics(run: TrackedRun | None) -> Iterator[None]:
    """Logs the use of this machine to an MLflow run meanwhile, every ten seconds, as MLflow itself does: `system/…`.

    MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL sets other seconds, ConfigError where it is no number;
    MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=false is none. A store that does not answer ends the samples, not the run.
    """
    if run is None or os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").strip().lower() in ("false", "0"):
        yield
        return
    from mlflow.system_metrics import system_metrics_monitor

    # what it says of a store that is away has the store's URI, password and all
    logging.getLogger(system_metrics_monitor.__name__).setLevel(logging.CRITICAL)
    try:
        open_client(run.tracking_uri)  # which connects once; the monitor would try for minutes
        monitor = system_metrics_monitor.SystemMetricsMonitor(
            run.run_id, resume_logging=True, tracking_uri=run.tracking_uri
        )
    except ValueError as error:
        raise ConfigError(f"{error}; give seconds between two samples") from None
    except Exception:
        yield
        return
    monitor.start()
    try:
        yield
    finally:
        monitor.finish()
