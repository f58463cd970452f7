"""Append-only files of one JSON object a line, on a disk or an object store; the events of a run in one."""

import json
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from vtr_core import storage
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, StorageError

Line = dict[str, Any]


def read_lines(location: Location) -> list[Line]:
    """The complete lines of such a file, also while another process writes it; none where there is no file."""
    content = _content(location)
    parsed = (_parse(line) for line in content.splitlines(keepends=True))
    return [value for value in parsed if value is not None]


class JsonLines:
    """Appends lines. Those that cannot be written, for instance to a full disk, are kept in memory and retried.

    A file always ends with a complete line: an incomplete one, left by a crash or a failed write, is cut off. On an
    object store `publish` updates the copy.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._file = Path(location.path) if location.is_local else Path(tempfile.mkdtemp()) / location.name
        self._waiting: list[bytes] = []
        content = _content(location)
        self._size = len(content)
        if content and not location.is_local:
            self._file.write_bytes(content)
        self._keep(content, bool)

    def read(self) -> list[Line]:
        """All lines, including those not yet written."""
        written = self._file.read_bytes() if self._file.exists() else b""
        return [json.loads(line) for line in [*written[: self._size].splitlines(), *self._waiting]]

    def keep(self, wanted: Callable[[Line], bool]) -> list[Line]:
        """Drop the lines that are not `wanted`, and return them."""
        return self._keep(self._file.read_bytes() if self._file.exists() else b"", wanted)

    def append(self, value: Mapping[str, Any]) -> None:
        """Write a line, now or once that is possible."""
        self._waiting.append((json.dumps(value) + "\n").encode())
        with suppress(OSError):
            self.flush()

    def flush(self) -> None:
        """Write pending lines; OSError where that cannot be done, and they stay pending."""
        if not self._waiting:
            return
        content = b"".join(self._waiting)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._file.open("ab") as file:
                file.write(content)
        except OSError:
            self._cut()
            raise
        self._size += len(content)
        self._waiting.clear()

    def publish(self) -> None:
        """Write pending lines and, on an object store, the whole file; OSError where that cannot be done."""
        self.flush()
        if not self._location.is_local and self._file.exists():
            storage.write_bytes(self._location, self._file.read_bytes())

    def _keep(self, content: bytes, wanted: Callable[[Line], bool]) -> list[Line]:
        """Cut off or drop unwanted lines; cutting needs no free space on the disk."""
        kept: list[bytes] = []
        dropped: list[Line] = []
        for line in content.splitlines(keepends=True):
            value = _parse(line)
            if value is not None and wanted(value):
                kept.append(line)
            elif value is not None:
                dropped.append(value)
        left = b"".join(kept)
        if not content.startswith(left):
            storage.write_bytes(storage.locate(self._file), left)
        self._size = len(left)
        self._cut()
        return dropped

    def _cut(self) -> None:
        """Cut off what follows the last complete line."""
        with suppress(OSError):
            if self._file.exists() and self._file.stat().st_size > self._size:
                with self._file.open("r+b") as file:
                    file.truncate(self._size)


def _parse(line: bytes) -> Line | None:
    """The object of a line; None for an incomplete line."""
    if not line.endswith(b"\n"):
        return None
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _content(location: Location) -> bytes:
    """The content of the file so far; StorageError where it cannot be read."""
    try:
        return storage.read_bytes(location) if storage.exists(location) else b""
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON lines is needed") from error


logger = logging.getLogger(__name__)


class EventLog:
    """Appends events to the file, which a resumed run continues, and counts those of this process by name.

    One JSON object a line: {"time": unix seconds, "event": name, …details}. Written by the driver alone. A failed write
    delays the file, not the run.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._lines = JsonLines(location)
        self.counts: Counter[str] = Counter()

    def add(self, event: str, **details: Any) -> None:
        """Log that `event` happened now."""
        self.counts[event] += 1
        self._lines.append({"time": time.time(), "event": event, **details})
        self.publish()

    def publish(self) -> None:
        """Write pending events."""
        try:
            self._lines.publish()
        except (OSError, StorageError) as error:
            logger.warning("%s cannot be written (%s); its events are kept and written later", self._location, error)

    def read(self) -> list[dict[str, Any]]:
        """All events of the run so far, oldest first."""
        return self._lines.read()
