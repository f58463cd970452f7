"""The Ray cluster of a command: the one that RAY_ADDRESS or `ray start` names, or one of its own on this machine."""

import logging
import math
import os

import ray


def connect(local_cpus: float = 0, worker_logs: bool = False) -> None:
    """Connect to Ray. A cluster of our own offers this machine's cores, or `local_cpus` where that is more."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)
    try:
        ray.init(address="auto", log_to_driver=worker_logs, logging_level=logging.WARNING)
    except ConnectionError:
        ray.init(
            address="local",
            num_cpus=max(os.cpu_count() or 1, math.ceil(local_cpus)),
            include_dashboard=False,
            log_to_driver=worker_logs,
            logging_level=logging.WARNING,
        )
