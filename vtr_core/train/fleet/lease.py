"""The lease on a run folder: the right to write it, held by one driver at a time.

`owner/00000001.json` is created exclusively by the first driver, `00000002.json` by the next, and so on: the highest
number holds the lease, so of several drivers that try at once one succeeds. No number is used twice. The holder renews
the lease by heartbeats, new modification times of its file. Another driver waits for a change of that time, by its own
clock alone. On the holder's machine it is enough to check whether its process lives.
"""

import json
import logging
import math
import os
import platform
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vtr_core import storage
from vtr_core.errors import RunConflict
from vtr_core.storage import Location, StorageError

logger = logging.getLogger(__name__)
Sleep = Callable[[float], object]
HEARTBEAT_S = 10.0
_BEATS_MISSED = 3.5
"""Missed heartbeats after which a holder counts as gone."""


@dataclass(frozen=True)
class Holder:
    """The holder of a run folder, as its file says."""

    host: str
    machine: str
    """The host, its boot and the process namespace in which `pid` counts."""
    pid: int
    process_start: str
    """Tells a process from a later one with the same number."""
    since: str
    token: str
    """Unlike that of any other lease."""
    released: bool = False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"

    def is_gone(self) -> bool | None:
        """Whether it has released the folder or its process has ended; None where that cannot be seen from here."""
        if self.released:
            return True
        if self.machine != _machine():
            return None
        return _process_start(self.pid) != self.process_start


class Lease:
    """A held lease on a run folder; a context manager, which releases it at its end."""

    def __init__(self, folder: Location, number: int, heartbeat_s: float) -> None:
        self.number = number
        self._folder, self._heartbeat_s = folder, heartbeat_s
        self._released = threading.Event()
        self._lost = False
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    @classmethod
    def take(cls, run: Location, heartbeat_s: float = HEARTBEAT_S, sleep: Sleep = time.sleep) -> "Lease":
        """Take the lease on the run folder at `run`; RunConflict, naming the holder, where it is alive."""
        folder = run / "owner"
        before = _newest(folder)
        if before:
            _wait_until_gone(run, _file(folder, before), heartbeat_s, sleep)
        number = before + 1
        try:
            made = storage.create_exclusively(_file(folder, number), _content(_self()))
        except OSError as error:
            raise StorageError(f"{run} cannot be written ({error}); free space, or see to its permissions") from error
        if not made or not is_held(folder, number):
            raise RunConflict(f"{run} was taken by {_read(_file(folder, _newest(folder)))} just now; {_ADVICE}")
        for old in _numbers(folder):
            if old < number:
                storage.delete_file(_file(folder, old))
        return cls(folder, number, heartbeat_s)

    def check(self) -> None:
        """Raise RunConflict where another driver has taken over the folder."""
        if self._lost:
            raise RunConflict(
                f"{self._folder} was taken over by {_read(_file(self._folder, _newest(self._folder)))}, because this "
                "process gave no sign of life for a while; that one goes on with the run"
            )

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._thread.join()
        with suppress(OSError, StorageError):
            if is_held(self._folder, self.number):
                storage.write_bytes(_file(self._folder, self.number), _content(replace(_self(), released=True)))

    def _beat(self) -> None:
        while not self._released.wait(self._heartbeat_s):
            try:
                if not is_held(self._folder, self.number):
                    self._lost = True
                    return
                _touch(_file(self._folder, self.number))
            except (OSError, StorageError) as error:
                logger.warning("the heartbeat of %s cannot be written: %s", self._folder, error)


def is_held(folder: Location, number: int) -> bool:
    """Whether lease `number` is the current one; `folder` is a run's `owner/`."""
    return _newest(folder) == number


def may_be_held(run: Location) -> bool:
    """Whether a driver holds the run folder at `run`, unless it is known to be gone; does not wait for a heartbeat."""
    number = _newest(run / "owner")
    return number > 0 and _is_gone(_file(run / "owner", number)) is not True


_ADVICE = "wait for its end or stop it, or choose another --out"


def _wait_until_gone(run: Location, file: Location, heartbeat_s: float, sleep: Sleep) -> None:
    """Return once the holder is gone, or has missed its heartbeats; RunConflict where it lives."""
    gone = _is_gone(file)
    if gone is None:
        wait = _BEATS_MISSED * heartbeat_s
        holder = _read(file) or "another"
        logger.warning("%s is held by %s; looking for %.0f s whether it still lives", run, holder, wait)
        gone = _stays_silent(file, wait, sleep)
    if not gone:
        raise RunConflict(f"{run} is being written by {_read(file) or 'another process'}; {_ADVICE}")


def _is_gone(file: Location) -> bool | None:
    """Whether the holder that made the file is gone; None where the file does not tell, or not yet.

    Only the holder of a higher number deletes a file, so the holder of a missing file no longer counts.
    """
    holder = _read(file)
    if holder is None:
        return None if storage.exists(file) else True
    return holder.is_gone()


def _stays_silent(file: Location, wait_s: float, sleep: Sleep) -> bool:
    """Whether the file shows no heartbeat for `wait_s`; known sooner once its content tells who holds it."""
    before, pauses = _changed(file), max(20, math.ceil(wait_s))
    for _ in range(pauses):
        gone = _is_gone(file)
        if gone is not None:
            return gone
        if _changed(file) != before:
            return False
        sleep(wait_s / pauses)
    return _changed(file) == before


def _content(holder: Holder) -> bytes:
    return (json.dumps(asdict(holder)) + "\n").encode()


def _file(folder: Location, number: int) -> Location:
    return folder / f"{number:08d}.json"


def _numbers(folder: Location) -> list[int]:
    names = (child.name.removesuffix(".json") for child in storage.children(folder))
    return sorted(int(name) for name in names if name.isdigit())


def _newest(folder: Location) -> int:
    """The highest lease number, which holds the folder; 0 without a lease."""
    return max(_numbers(folder), default=0)


def _read(file: Location) -> Holder | None:
    try:
        value = storage.read_json(file)
        return Holder(**value)
    except (OSError, StorageError, TypeError):
        return None


def _changed(file: Location) -> tuple[Any, ...]:
    """A value that changes with every heartbeat, and when the file is deleted."""
    info = file.info
    return info.type, info.mtime_ns, info.size


def _touch(file: Location) -> None:
    """Update the modification time; on a disk without writing, which a full disk would refuse."""
    if file.is_local:
        os.utime(file.path)
    else:
        storage.write_bytes(file, storage.read_bytes(file))


def _self() -> Holder:
    return Holder(
        host=socket.gethostname(),
        machine=_machine(),
        pid=os.getpid(),
        process_start=_process_start(os.getpid()),
        since=datetime.now(UTC).isoformat(timespec="seconds"),
        token=uuid.uuid4().hex,
    )


def _machine() -> str:
    boot, namespace = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    known = [boot.read_text().strip(), os.readlink(namespace)] if boot.exists() and namespace.exists() else []
    return " ".join([socket.gethostname(), platform.system(), *known])


def _process_start(pid: int) -> str:
    """The start time of a process on this machine, as the system reports it; empty where it does not exist."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            values = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if values[0] == "Z" else values[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "alive"
