"""The most memory that a tree of processes and its Ray object store hold at once.

Shared pages are counted once: the sum over the processes of their private share (`Pss_Anon` + `Pss_File` of
/proc/<pid>/smaps_rollup; a page mapped by n processes counts 1/n in each), and the object store by the blocks that its
file in shared memory takes, whoever maps them.
"""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import sleep

PROC = Path("/proc")
STORE = "/dev/shm/plasma"
"""How the name of Ray's object store begins; it is unlinked, and open in the processes that use it."""


@dataclass(frozen=True)
class Memory:
    """Bytes of a tree of processes at one time."""

    processes: int
    """Private memory and mapped files."""
    object_store: int
    mapped: int = 0
    """Of the processes' memory, pages of files, which the system may drop at any time."""

    @property
    def total(self) -> int:
        """Both."""
        return self.processes + self.object_store


def tree(root: int) -> list[int]:
    """The ids of `root` and of all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            children.setdefault(int(after_name[1]), []).append(int(entry.name))
    members = [root]
    for process in members:
        members.extend(children.get(process, []))
    return members


def memory(root: int) -> Memory:
    """What `root` and its descendants hold now."""
    anonymous, mapped = 0, 0
    stores: dict[int, int] = {}
    for process in tree(root):
        try:
            private, files = _private(process)
            anonymous, mapped = anonymous + private, mapped + files
            stores.update(_stores(process))
        except OSError:  # it ended meanwhile
            continue
    return Memory(anonymous + mapped, sum(stores.values()), mapped)


def _private(process: int) -> tuple[int, int]:
    lines = (PROC / str(process) / "smaps_rollup").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines[1:])
    anonymous, mapped = (int(fields[name].split()[0]) * 1024 for name in ("Pss_Anon", "Pss_File"))
    return anonymous, mapped


def _stores(process: int) -> Iterator[tuple[int, int]]:
    """(inode, bytes in use) of the object stores that a process has open."""
    for descriptor in (PROC / str(process) / "fd").iterdir():
        if os.readlink(descriptor).startswith(STORE):
            status = os.stat(descriptor)
            yield status.st_ino, status.st_blocks * 512


class PeakMemory:
    """Looks every `interval_s` between the appearance of two files, and keeps the highest total."""

    def __init__(self, root: int, begin: Path, end: Path, interval_s: float = 0.05) -> None:
        self._root, self._begin, self._end, self._interval_s = root, begin, end, interval_s
        self.highest = Memory(0, 0)
        self.samples = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set() and not self._end.exists():
            if self._begin.exists():
                self.highest = max(self.highest, memory(self._root), key=lambda sample: sample.total)
                self.samples += 1
            sleep(self._interval_s)
