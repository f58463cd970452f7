"""A file being written, with its size and SHA-256."""

import hashlib
import io
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Sink(Protocol):
    """What takes bytes, one piece after another."""

    def write(self, data: Any, /) -> int:
        """Write a piece; returns its size."""


class HashingSink(io.RawIOBase):
    """A binary sink that passes data on to another one, which it does not close, and counts and hashes it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.digest = hashlib.sha256()
        self.size = 0
        self.fault: OSError | None = None
        """Why a write failed, if one did: writers that are not ours may raise something else afterwards."""

    def write(self, data: Any) -> int:
        """Write `data` to the underlying sink."""
        self.digest.update(data)
        try:
            self._sink.write(data)
        except OSError as error:
            self.fault = error
            raise
        written = memoryview(data).nbytes
        self.size += written
        return written

    def tell(self) -> int:
        """The number of bytes written so far."""
        return self.size

    def writable(self) -> bool:
        """True."""
        return True
