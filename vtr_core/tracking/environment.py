"""The environment of a run: Python, packages, machine, GPUs and cluster, for the artifact `environment.json`."""

import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

import psutil
import pynvml


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
