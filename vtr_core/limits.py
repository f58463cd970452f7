"""What a command may use: processor cores, memory, and the time that it waits for what it depends on."""

import os
import resource
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vtr_core.errors import ConfigError


def num_usable() -> int:
    """Cores that the process may run on, where the system tells, as Linux does; else those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes of memory that the process may still take: what the machine has free, or its container where that is less.

    A container's own files are read where it is the root of its control group (version 2), as in Docker and Kubernetes.
    """
    import psutil

    free: int = psutil.virtual_memory().available
    with suppress(OSError, ValueError):  # no such group, or no limit ("max")
        most, held = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        free = min(free, max(0, most - held))
    return free


STATM = Path("/proc/self/statm")
EXCEEDED = 1
"""Exit status of a process that `watch` ends."""
_EVERY_S = 0.05


def limit(max_bytes: int, what: Literal["addresses", "data"]) -> None:
    """Let this process take at most `max_bytes` in addition to what it has.

    Linux refuses what is beyond, which is a MemoryError or the end of the process. what: the address space, or the data
    segment for CUDA, which reserves more addresses than there is memory. Other systems, macOS among them, take such
    limits and do not hold them, or refuse them: there the process is ended when it has more (`watch`).
    """
    if not STATM.exists():
        watch(max_bytes)
        return
    kind, place = (resource.RLIMIT_DATA, 5) if what == "data" else (resource.RLIMIT_AS, 0)
    held = int(STATM.read_text().split()[place]) * resource.getpagesize()
    resource.setrlimit(kind, (held + max_bytes, held + max_bytes))


def watch(max_bytes: int) -> None:
    """End this process when its resident memory has grown by more than `max_bytes`: looked at 20 times a second."""
    import psutil

    process = psutil.Process()
    most = process.memory_info().rss + max_bytes

    def end_beyond() -> None:
        while process.memory_info().rss <= most:
            time.sleep(_EVERY_S)
        os._exit(EXCEEDED)

    threading.Thread(target=end_beyond, daemon=True).start()


@dataclass(frozen=True)
class PatienceSetting:
    """An environment variable that says how long something is waited for, and the seconds where it is not set.

    The defaults are those that a slow, busy machine needs. What fails is reported when it fails; only what does not
    answer at all, or goes on failing in a way that may pass, is waited for as long as this.
    """

    variable: str
    default_s: float

    def seconds(self) -> float:
        """The seconds to wait; ConfigError where the variable is no number of seconds, 0 or more."""
        text = os.environ.get(self.variable) or str(self.default_s)
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            raise ConfigError(f"{self.variable} is {text!r}; it must be a number of seconds, 0 or more")
        return seconds


S3 = PatienceSetting("VTR_S3_PATIENCE_S", 120.0)
"""Timeout of an S3-compatible store that is unreachable, throttles or answers 5xx."""
MLFLOW = PatienceSetting("VTR_MLFLOW_PATIENCE_S", 120.0)
"""Timeout of an MLflow store at the start of a run, which then trains without it, and at its end."""
RAY = PatienceSetting("VTR_RAY_PATIENCE_S", 300.0)
"""Timeout of Ray's servers: to start on this machine, to list nodes, to answer while a job is followed."""
SWEEP = PatienceSetting("VTR_SWEEP_PATIENCE_S", 300.0)
"""Timeout of a sweep's trial: to write its checkpoint, to end, and to release its folder."""
SETTINGS = (S3, MLFLOW, RAY, SWEEP)
