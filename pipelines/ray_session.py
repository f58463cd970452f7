"""The Ray cluster of a command: the one that RAY_ADDRESS or `ray start` names, or one of its own on this machine."""

import logging
import math
import os
from functools import partial

import ray
import ray.data  # sets up the loggers that are quieted here


def connect(local_cpus: float = 0, worker_logs: bool = False) -> None:
    """Connect to Ray. A cluster of our own offers this machine's cores, or `local_cpus` where that is more."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    _quiet()
    cpus = max(os.cpu_count() or 1, math.ceil(local_cpus))
    start = partial(ray.init, log_to_driver=worker_logs, logging_level=logging.WARNING)
    try:
        start(num_cpus=cpus, include_dashboard=False)
    except ValueError:  # RAY_ADDRESS or `ray start` names a cluster, which has its own number of CPUs
        start()


def _quiet() -> None:
    """Keep Ray's remarks on how it runs in its own log files, errors apart."""
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.ERROR)
