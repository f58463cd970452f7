"""Which processes belong to a node, so that exactly these can be killed.

A node with a network namespace owns whatever runs in it. Without one it owns the processes that have a file open in its
folder (Ray gives each of its processes a log there) and all their descendants.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

PROC = Path("/proc")
_END_TIMEOUT_S = 600.0


def in_namespace(namespace: str) -> set[int]:
    """The processes whose network is the namespace's."""
    try:
        wanted = (Path("/run/netns") / namespace).stat()
    except FileNotFoundError:
        return set()
    return {pid for pid in _all() if _is_same(PROC / str(pid) / "ns" / "net", wanted)}


def with_files_in(folder: Path) -> set[int]:
    """The processes that have a file below `folder` open, and their descendants."""
    return with_descendants({pid for pid in _all() if _has_open(pid, f"{folder}/")}, parents())


def with_descendants(roots: Iterable[int], parent_of: Mapping[int, int]) -> set[int]:
    """`roots` and all that descend from them; `parent_of` gives the parent of every process."""
    found, grown = set(roots), True
    while grown:
        children = {pid for pid, parent in parent_of.items() if parent in found} - found
        found |= children
        grown = bool(children)
    return found


def parents() -> dict[int, int]:
    """The parent of every process, zombies left out."""
    found = {}
    for pid in _all():
        state = _state(pid)
        if state is not None and state[0] != "Z":
            found[pid] = int(state[1])
    return found


def in_session(session: int) -> set[int]:
    """The processes of a session (setsid), zombies left out."""
    states = {pid: _state(pid) for pid in _all()}
    return {pid for pid, state in states.items() if state is not None and state[0] != "Z" and int(state[3]) == session}


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; tells it from a later one with its number. None if gone."""
    state = _state(pid)
    return None if state is None or state[0] == "Z" else int(state[19])


def end(found: Callable[[], set[int]]) -> None:
    """SIGKILL what `found` finds, until it finds nothing: a killed process lives on for a moment.

    Raises TimeoutError after ten minutes.
    """
    deadline = time.monotonic() + _END_TIMEOUT_S
    while pids := found():
        _kill(pids)
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {sorted(pids)} cannot be killed")
        time.sleep(0.02)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _all() -> list[int]:
    return [int(entry) for entry in os.listdir(PROC) if entry.isdigit()]


def _state(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on (state, parent, …); None where the process is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _has_open(pid: int, prefix: str) -> bool:
    try:
        links = [os.readlink(entry) for entry in (PROC / str(pid) / "fd").iterdir()]
    except OSError:  # it has ended, or is another user's
        return False
    return any(link.startswith(prefix) for link in links)


def _is_same(place: Path, wanted: os.stat_result) -> bool:
    try:
        found = place.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)
