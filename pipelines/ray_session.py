"""Connection to Ray: to the cluster of RAY_ADDRESS or `ray start`, or to a new one on this machine."""

import logging
import math
import os
import secrets
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import psutil
import ray
import ray.data  # creates the loggers that are silenced here

from vtr_core import ray_private
from vtr_core.errors import ClusterError, one_line
from vtr_core.patience import RAY

logger = logging.getLogger(__name__)
_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
_OWN = ("", "local")
_ONE_START_S = 30.0
"""Ray's fixed timeout for the start of its servers, in seconds."""
_ANSWER_S = 5.0
"""Within which a cluster's server accepts a connection."""


def connect(local_cpus: float = 0, worker_logs: bool = False) -> None:
    """Connect to Ray. A new cluster offers this machine's cores, or `local_cpus` where that is more.

    Where RAY_ADDRESS is not set and the cluster of the last `ray start` is gone, which Ray would wait for, a new one is
    started, and a warning says so.

    Ray's servers listen on all addresses of the machine and run any code they receive. A new cluster therefore requires
    a token that only this command and its workers have, unless RAY_AUTH_MODE or RAY_AUTH_TOKEN is set. Raises
    ClusterError where Ray does not start.
    """
    if ray.is_initialized():
        return
    os.environ.setdefault(ray_private.KEEP_DEVICES, "0")
    for name, value in ray_private.KEEP_IDLE.items():
        os.environ.setdefault(name, value)
    _quiet()
    cpus = max(os.cpu_count() or 1, math.ceil(local_cpus))
    address = _address()
    print(_told(address), flush=True)
    start = partial(ray.init, address=address, log_to_driver=worker_logs, logging_level=logging.WARNING)
    guarded = os.environ.get("RAY_ADDRESS", "") in _OWN and not any(name.startswith("RAY_AUTH") for name in os.environ)
    if guarded:
        _set_token()
    try:
        patiently(partial(start, num_cpus=cpus, include_dashboard=False))
    except ValueError:  # RAY_ADDRESS or `ray start` names a cluster, which has its own number of CPUs
        if guarded:
            _forget_token()
        start()


def _told(address: str | None) -> str:
    """Which Ray is about to be connected to, and that a new one takes a while."""
    given = os.environ.get("RAY_ADDRESS") or address or ray_private.started_last() or "local"
    if given == "local":
        return "Ray     is started on this machine: some seconds, half a minute where it is busy"
    return f"Ray     at {given}"


def _address() -> str | None:
    """For `ray.init`: "local" where Ray would wait for a cluster that is gone; None lets Ray choose."""
    if os.environ.get("RAY_ADDRESS"):
        return None
    last = ray_private.started_last()
    if last is None or _answers(last):
        return None
    logger.warning(
        "nothing answers at %s, where the last `ray start` had its cluster: Ray is started on this machine "
        "(`ray stop` forgets that cluster, RAY_ADDRESS names another)",
        last,
    )
    return "local"


def _answers(address: str) -> bool:
    """Whether a server accepts connections at host:port."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S):
            return True
    except (OSError, ValueError):
        return False


def patiently(start: Callable[[], object]) -> None:
    """Start Ray on this machine, and retry where its servers exceed Ray's timeout of half a minute.

    The number of attempts is VTR_RAY_PATIENCE_S / 30, at least one. Raises ClusterError where all of them time out.
    """
    patience_s = RAY.seconds()
    for left in reversed(range(max(1, math.ceil(patience_s / _ONE_START_S)))):
        before = _descendants()
        try:
            start()
        except Exception as error:
            if type(error) is not Exception:  # Ray raises a plain Exception for servers that did not start
                raise
            said = f"Ray did not start on this machine: {one_line(str(error))}"
            if not left:
                advice = f"Try again when it is less busy, or with {RAY.variable} above {patience_s:g}"
                raise ClusterError(f"{said} {advice}") from error
            logger.warning("%s It is started again", said)
            _kill(_descendants() - before)
        else:
            return


def _descendants() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def _kill(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL servers that started too late, which would slow down the next attempt."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _set_token() -> None:
    os.environ.update({_MODE: "token", _TOKEN: secrets.token_hex(32)})
    ray_private.read_token_settings()


def _forget_token() -> None:
    del os.environ[_MODE], os.environ[_TOKEN]
    ray_private.read_token_settings()


def _quiet() -> None:
    """Restrict Ray's messages, except errors, to its log files."""
    ray_private.only_errors(ray_private.TALKATIVE_AT_START)
    ray_private.quiet_data()
