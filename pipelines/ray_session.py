"""The Ray cluster of a command: the one that RAY_ADDRESS or `ray start` names, or one of its own on this machine."""

import logging
import os

import ray


def connect(local_cpus: float = 0, worker_logs: bool = False) -> None:
    """Connect to Ray. A cluster of our own offers this machine's cores, or `local_cpus` where that is more."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)
    shared = {"log_to_driver": worker_logs, "logging_level": logging.WARNING, "configure_logging": True}
    try:
        ray.init(address="auto", **shared)
    except ConnectionError:
        cpus = max(os.cpu_count() or 1, int(-(-local_cpus // 1)))
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **shared)
