"""Open objects: a random-access reader, and a writer that buffers in a local file and uploads at close."""

import io
import os
import tempfile
from collections.abc import Callable
from mmap import ACCESS_READ, mmap

import pyarrow as pa


class OpenObject:
    """Random-access reader of an object. Each read is one range request: no read-ahead, no cache."""

    closed = False

    def __init__(self, size: int, part: Callable[[int, int], pa.Buffer]) -> None:
        """size: bytes of the object; part: reads (offset, length)."""
        self._size, self._part, self._position = size, part, 0

    def read(self, size: int = -1) -> pa.Buffer:
        """The next `size` bytes, or all remaining ones."""
        left = max(0, self._size - self._position)
        wanted = left if size < 0 else min(size, left)
        content = self._part(self._position, wanted) if wanted else pa.py_buffer(b"")
        self._position += content.size
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next read."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        """The position of the next read."""
        return self._position

    def close(self) -> None:
        """Do nothing: no resource is held."""
        self.closed = True


class Upload:
    """Output stream that buffers in a local file until it is closed."""

    closed = False

    def __init__(self, publish: Callable[[bytes | mmap], None]) -> None:
        """publish: uploads the written bytes."""
        self._publish = publish
        self._file = tempfile.NamedTemporaryFile(prefix="vtr-upload-")  # noqa: SIM115  (closed in close)
        self.write, self.tell = self._file.write, self._file.tell

    def close(self) -> None:
        """Upload the written bytes."""
        if not self.closed:
            self.closed = True
            with self._file:
                self._file.flush()
                self._publish(mapped(self._file.name))


def mapped(file: str) -> bytes | mmap:
    """The content of a local file as a memory map, for uploads; obstore's own file reading has half the speed."""
    with open(file, "rb") as source:
        return mmap(source.fileno(), 0, access=ACCESS_READ) if os.path.getsize(file) else b""
