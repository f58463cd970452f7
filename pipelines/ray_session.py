"""Connection to Ray: to a cluster that runs, or to a new one here; functions mapped over items by its tasks."""

import logging
import math
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psutil
import ray.data

from vtr_core import ray_private
from vtr_core.errors import ClusterError, one_line
from vtr_core.patience import RAY

if TYPE_CHECKING:
    from vtr_core.train.fleet.placement import Placement


logger = logging.getLogger(__name__)
_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
_ADDRESS, _OWN = "RAY_ADDRESS", "local"
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
    if address != _OWN:
        start()
        return
    if not any(name.startswith("RAY_AUTH") for name in os.environ):
        _set_token()
    with alone():
        patiently(partial(start, num_cpus=cpus, include_dashboard=False))


@contextmanager
def alone() -> Iterator[None]:
    """The processes of a Ray that is started within look for no other one.

    They inherit RAY_ADDRESS. Without it, what watches over a training asks the last `ray start` on the machine for the
    training's controller: where that cluster is gone, each training ends twelve seconds late.
    """
    before = os.environ.get(_ADDRESS)
    os.environ[_ADDRESS] = _OWN
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ADDRESS]
        else:
            os.environ[_ADDRESS] = before


def _told(address: str | None) -> str:
    """Which Ray is about to be connected to, and that a new one takes a while."""
    if address == _OWN:
        return "Ray     is started on this machine: some seconds, half a minute where it is busy"
    return f"Ray     at {os.environ.get(_ADDRESS) or ray_private.started_last()}"


def _address() -> str | None:
    """For `ray.init`: "local" for a new Ray on this machine; None for RAY_ADDRESS or the last `ray start`."""
    if address := os.environ.get(_ADDRESS):
        return _OWN if address == _OWN else None
    last = ray_private.started_last()
    if last is None or _answers(last):
        return _OWN if last is None else None
    logger.warning(
        "nothing answers at %s, where the last `ray start` had its cluster: Ray is started on this machine "
        "(`ray stop` forgets that cluster, RAY_ADDRESS names another)",
        last,
    )
    return _OWN


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


def _quiet() -> None:
    """Restrict Ray's messages, except errors, to its log files."""
    ray_private.only_errors(ray_private.TALKATIVE_AT_START)
    ray_private.quiet_data()


Same = TypeVar("Same")
Item = TypeVar("Item")
Result = TypeVar("Result")


def begin_reading(worker_logs: bool, apart: bool) -> "Placement":
    """Connect to Ray; returns the placement. With `apart` tasks go to the nodes for reading, where there are any."""
    from ray.data import DataContext

    from vtr_core.train.fleet.placement import place_reading, placement

    connect(worker_logs=worker_logs)
    DataContext.get_current().enable_progress_bars = False
    placed = placement("auto")
    if apart:
        place_reading(placed)
    return placed


def on_ray(
    function: Callable[[Same, Item], Result], same: Same, items: Sequence[Item], gpus: float = 0.0
) -> Iterator[Result]:
    """The results of `function(same, item)`, one task per item, in arbitrary order; `same` is sent once.

    Errors in the data are raised as InputError.
    """
    import ray
    from ray import cloudpickle

    from vtr_core.errors import InputError, VtrError

    shared = ray.put(same)

    def work(row: dict[str, bytes]) -> dict[str, Any]:
        try:
            result = function(ray.get(shared), cloudpickle.loads(row["item"]))
        except VtrError as error:
            return {"result": b"", "error": str(error)}
        return {"result": cloudpickle.dumps(result), "error": ""}

    rows = ray.data.from_items([{"item": cloudpickle.dumps(item)} for item in items], override_num_blocks=len(items))
    for row in rows.map(work, num_gpus=gpus or None).iter_rows():
        if row["error"]:
            raise InputError(row["error"])
        yield cloudpickle.loads(row["result"])
