"""The number of processor cores that this process may use."""

import os


def num_usable() -> int:
    """Cores that the process may run on, where the system tells, as Linux does; else those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
