"""Connection to Ray: to a cluster that runs, or to a new one here; functions mapped over items by its tasks."""

import logging
import math
import os
import re
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import psutil
import ray.data
from ray import cloudpickle

import vtr_core
from vtr_core import ray_private
from vtr_core.errors import ClusterError, ConfigError, InputError, VtrError, one_line
from vtr_core.limits import RAY

if TYPE_CHECKING:
    from vtr_core.train.fleet.placement import Placement


logger = logging.getLogger(__name__)
_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
_ADDRESS, _OWN = "RAY_ADDRESS", "local"
_FOLDER, _SHORT = "RAY_TMPDIR", "/tmp"
_HOST_AND_PORT = re.compile(r"([^\s:/]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})")
_CODE = str(Path(vtr_core.__file__).parents[1])
_WAYS_OUT = "give the host:port that ray start --head prints, or unset RAY_ADDRESS for a Ray of the command's own"
_ONE_START_S = 30.0
"""Ray's fixed timeout for the start of its servers, in seconds."""
_LOOK_S = 1.0
"""Between two looks whether Ray's servers are there."""
_BEFORE_RAY_S = 15.0
"""By which a lost head is told before Ray ends the process itself."""
_CLOSING_S = (60.0, 30.0)
"""For the main thread to end after it was told of the loss, and after it was told again."""
_EXIT_S = 5.0
"""For the end of a process whose main thread has ended."""
_SIGNAL = getattr(signal, "SIGRTMIN", signal.SIGUSR2)
"""Which nobody else sends."""


def connect(local_cpus: float = 0, worker_logs: bool = False) -> None:
    """Connect to Ray. A new cluster offers this machine's cores, or `local_cpus` where that is more.

    Where RAY_ADDRESS is not set and the cluster of the last `ray start` is gone, which Ray would wait for, a new one is
    started, and a warning says so. Workers import what this command imports, and nothing from the working directory.

    Ray's servers listen on all addresses of the machine and run any code they receive. A new cluster therefore requires
    a token that only this command and its workers have, unless RAY_AUTH_MODE or RAY_AUTH_TOKEN is set. Raises
    ConfigError or ClusterError, within seconds, where RAY_ADDRESS names no cluster, or Ray does not start; and
    ClusterError later, wherever the main thread is, where the cluster is lost.
    """
    if ray.is_initialized():
        return
    os.environ.setdefault(ray_private.KEEP_DEVICES, "0")
    for name, value in ray_private.KEEP_IDLE.items():
        os.environ.setdefault(name, value)
    ray_private.only_errors(ray_private.TALKATIVE_AT_START)
    ray_private.quiet_data()
    cpus = max(os.cpu_count() or 1, math.ceil(local_cpus))
    address = _address()
    if address == _OWN:
        print("Ray     is started on this machine: some seconds, half a minute where it is busy", flush=True)
    else:
        print(f"Ray     at {_named() or ray_private.started_last()}", flush=True)
    if address != _OWN and _named():
        check_answers(_named())
    start = partial(
        ray.init,
        address=address,
        log_to_driver=worker_logs,
        logging_level=logging.WARNING,
        job_config=ray_private.imports_alone([_CODE]),
    )
    try:
        if address != _OWN:
            start()
        else:
            folder, fault = folder_of_files()
            if fault:
                logger.warning("%s: its files are below %s (RAY_TMPDIR names another folder)", fault, folder)
            if not any(name.startswith("RAY_AUTH") for name in os.environ):
                os.environ.update({_MODE: "token", _TOKEN: secrets.token_hex(32)})
                ray_private.read_token_settings()
            with alone():
                patiently(partial(start, num_cpus=cpus, include_dashboard=False, _temp_dir=f"{folder}/ray"))
    except VtrError:
        raise
    except Exception as error:  # Ray raises many kinds
        if isinstance(error, OSError) and not isinstance(error, ConnectionError):
            place = f"Ray cannot write its files below {ray_private.folder()}"
            raise ClusterError(f"{place} ({one_line(str(error))}); name another folder with RAY_TMPDIR") from error
        where = "on this machine" if address == _OWN else f"at {_named() or ray_private.started_last()}"
        raise ClusterError(f"Ray {where} does not take this command: {one_line(str(error))}") from error
    if ray.is_initialized():
        _Watch(address == _OWN).begin()


def folder_of_files() -> tuple[str, str]:
    """Where a new Ray on this machine keeps its files, below RAY_TMPDIR, TMPDIR or /tmp; and what is wrong with TMPDIR.

    A TMPDIR whose name is too long for Ray's sockets, such as batch systems set, or not ASCII, is left for /tmp;
    ConfigError for such a RAY_TMPDIR.
    """
    folder = os.path.abspath(ray_private.folder() or _SHORT)
    excess = len(os.fsencode(folder)) - ray_private.LONGEST_FOLDER
    if excess <= 0 and folder.isascii():
        return folder, ""
    fault = f"is {excess} bytes too long for the names of Ray's sockets" if excess > 0 else "is not ASCII, as Ray asks"
    if os.environ.get(_FOLDER):
        raise ConfigError(f"{_FOLDER}, {folder}, {fault}; name another folder, such as {_SHORT}")
    return _SHORT, f"TMPDIR, {folder}, {fault}"


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


def _named() -> str:
    """The address that RAY_ADDRESS names; empty without one, or where it is `auto`, that of the last `ray start`."""
    address = os.environ.get(_ADDRESS, "")
    return "" if address == "auto" else address


def _address() -> str | None:
    """For `ray.init`: "local" for a new Ray on this machine; None for RAY_ADDRESS or the last `ray start`.

    ConfigError where RAY_ADDRESS is no address of a cluster; ClusterError where it is that of the last `ray start`, and
    no cluster answers there.
    """
    address = _named()
    if address == _OWN:
        return _OWN
    if address:
        check_address(address)
        return None
    last = ray_private.started_last()
    if last is not None and not ray_private.is_gone(last):
        return None
    if os.environ.get(_ADDRESS):  # auto
        raise ClusterError(f"RAY_ADDRESS is auto, and no cluster of `ray start` runs on this machine; {_WAYS_OUT}")
    if last is not None:
        logger.warning(
            "nothing answers at %s, where the last `ray start` had its cluster: Ray is started on this machine "
            "(`ray stop` forgets that cluster, RAY_ADDRESS names another)",
            last,
        )
    return _OWN


def check_address(address: str) -> None:
    """ConfigError unless `address`, of RAY_ADDRESS, may be that of a cluster's head."""
    if "://" in address:
        scheme = address.partition("://")[0]
        use = {
            "http": "the URL of a dashboard, for vtr submit: name that in RAY_API_SERVER_ADDRESS",
            "https": "the URL of a dashboard, for vtr submit: name that in RAY_API_SERVER_ADDRESS",
            "ray": "an address of Ray Client: vtr submit runs commands on such a cluster",
        }.get(scheme, f"a URL of {scheme}")
        raise ConfigError(f"RAY_ADDRESS is {address}, {use}; {_WAYS_OUT}")
    parts = _HOST_AND_PORT.fullmatch(address)
    if parts is None or not 0 < int(parts["port"]) < 2**16:
        raise ConfigError(f"RAY_ADDRESS is {address!r}, not host:port; {_WAYS_OUT}")


def check_answers(address: str) -> None:
    """ClusterError, within seconds, unless the head of a running cluster answers at `address`, of RAY_ADDRESS."""
    if fault := ray_private.head_fault(address):
        raise ClusterError(f"no Ray cluster takes this command at RAY_ADDRESS={address} ({fault}); {_WAYS_OUT}")


class _Watch(threading.Thread):
    """Raises ClusterError in the main thread where the connected Ray is lost, and ends a process that stays.

    Without it most of Ray's calls wait for ever, and others end the process without a word.
    """

    def __init__(self, own: bool) -> None:
        """own: whether the cluster was started by this process, so that its head does not come back."""
        super().__init__(name="ray-watch", daemon=True)
        context = ray.get_runtime_context()
        nodes = {node["NodeID"]: node for node in ray.nodes()}
        node = nodes[context.get_node_id()]
        self._head = context.gcs_address
        self._node = f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
        reconnect_s = float(os.environ.get(ray_private.RECONNECT_S) or 60)
        self._patience_s = 0.0 if own else max(0.0, reconnect_s - _BEFORE_RAY_S)
        self._fault = ""

    def begin(self) -> None:
        """Watch from now on, where the main thread connects: it alone gets signals."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(_SIGNAL, self._raise)
            self.start()

    def run(self) -> None:
        """Wait for the loss, tell the main thread, and end the process where that does not end it."""
        gone_since: float | None = None
        while ray.is_initialized():
            time.sleep(_LOOK_S)
            is_lost = ray_private.is_gone(self._node)
            if not is_lost and not ray_private.is_gone(self._head):
                gone_since = None
            elif gone_since is None:
                gone_since = time.monotonic()
            elif is_lost or time.monotonic() - gone_since >= self._patience_s:
                break
        if gone_since is None or not ray.is_initialized():
            return
        server = "this machine's node" if is_lost else "the head"
        self._fault = f"Ray is lost: {server} of the cluster at {self._head} does not answer any more"
        self._end()

    def _raise(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        raise ClusterError(
            f"{self._fault}; see to its machine's memory, and give the command again, with --resume if it has that"
        )

    def _end(self) -> None:
        main = threading.main_thread()
        for patience_s in _CLOSING_S:
            signal.pthread_kill(main.ident or 0, _SIGNAL)
            deadline = time.monotonic() + patience_s
            while main.is_alive() and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
                if not ray.is_initialized() and main.is_alive():  # the caller goes on without it
                    return
            if not main.is_alive():
                time.sleep(_EXIT_S)  # Ray's own end may wait for its servers
                break
        else:
            print(f"vtr: ClusterError: {self._fault}", file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(2)


def patiently(start: Callable[[], object]) -> None:
    """Start Ray on this machine, and retry where its servers exceed Ray's timeout of half a minute.

    The number of attempts is VTR_RAY_PATIENCE_S / 30, at least one. Raises ClusterError where all of them time out.
    """
    patience_s, this = RAY.seconds(), psutil.Process()
    for left in reversed(range(max(1, math.ceil(patience_s / _ONE_START_S)))):
        before = set(this.children(recursive=True))
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
            for process in set(this.children(recursive=True)) - before:  # they would slow down the next attempt
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        else:
            return


Same = TypeVar("Same")
Item = TypeVar("Item")
Result = TypeVar("Result")


def begin_reading(worker_logs: bool, apart: bool) -> "Placement":
    """Connect to Ray; returns the placement. With `apart` tasks go to the nodes for reading, where there are any."""
    from vtr_core.train.fleet.placement import place_reading, placement

    connect(worker_logs=worker_logs)
    ray.data.DataContext.get_current().enable_progress_bars = False
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
