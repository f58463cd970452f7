"""What this process may use: its number of processor cores, and a limit of its memory."""

import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal


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
