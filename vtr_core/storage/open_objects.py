"""Open objects: one that is read, one that is written to a local file and published at its end."""

import io
import os
import tempfile
from collections.abc import Callable
from mmap import ACCESS_READ, mmap

import pyarrow as pa


class OpenObject:
    """An object that is read from any place. One range per reading: nothing is read ahead or kept."""

    closed = False

    def __init__(self, size: int, part: Callable[[int, int], pa.Buffer]) -> None:
        """`part`: reads from a place on as many bytes as wanted."""
        self._size, self._part, self._position = size, part, 0

    def read(self, size: int = -1) -> pa.Buffer:
        """The next `size` bytes, or all that are left."""
        left = max(0, self._size - self._position)
        wanted = left if size < 0 else min(size, left)
        content = self._part(self._position, wanted) if wanted else pa.py_buffer(b"")
        self._position += content.size
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        """The place of the next byte."""
        return self._position

    def close(self) -> None:
        """Nothing is held."""
        self.closed = True


class Upload:
    """What is written to an output stream, kept in a local file until it is closed."""

    closed = False

    def __init__(self, publish: Callable[[bytes | mmap], None]) -> None:
        """`publish`: sends what was written."""
        self._publish = publish
        self._file = tempfile.NamedTemporaryFile(prefix="vtr-upload-")  # noqa: SIM115  (closed in close)
        self.write, self.tell = self._file.write, self._file.tell

    def close(self) -> None:
        """Publish what was written."""
        if not self.closed:
            self.closed = True
            with self._file:
                self._file.flush()
                self._publish(mapped(self._file.name))


def mapped(file: str) -> bytes | mmap:
    """What a local file holds, to be sent; obstore itself reads files at half the speed."""
    with open(file, "rb") as source:
        return mmap(source.fileno(), 0, access=ACCESS_READ) if os.path.getsize(file) else b""
