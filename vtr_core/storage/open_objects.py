"""Open objects: one that is read with patience, one that is written to a local file and published at its end."""

import io
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa


class PatientFile:
    """An open object whose readings are tried again. One range per reading: nothing is read ahead or kept."""

    def __init__(self, opened: pa.NativeFile, patiently: Callable[[Callable[[], Any]], Any]) -> None:
        self._opened, self._patiently = opened, patiently
        self._size, self._position = opened.size(), 0

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return bool(self._opened.closed)

    def read(self, size: int = -1) -> pa.Buffer:
        """The next `size` bytes, or all that are left."""
        begin = self._position
        wanted = self._size - begin if size < 0 else min(size, self._size - begin)
        if wanted <= 0:
            return pa.py_buffer(b"")
        content = self._patiently(partial(self._range, begin, wanted))
        self._position = begin + content.size
        return content

    read_buffer = read

    def _range(self, begin: int, size: int) -> pa.Buffer:
        self._opened.seek(begin)
        return self._opened.read_buffer(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        """The place of the next byte."""
        return self._position

    def readable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """Never."""
        return False

    def seekable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Let go of it."""
        self._opened.close()


class Upload:
    """What is written to an output stream, kept in a local file until it is closed."""

    def __init__(self, publish: Callable[[str], None]) -> None:
        """`publish`: sends a local file."""
        self._publish = publish
        self._file = tempfile.NamedTemporaryFile(prefix="vtr-upload-")  # noqa: SIM115  (closed in close)

    @property
    def closed(self) -> bool:
        """Whether it was published."""
        return self._file.closed

    def write(self, data: Any) -> int:
        """Take the next bytes."""
        return self._file.write(data)

    def tell(self) -> int:
        """Bytes taken so far."""
        return self._file.tell()

    def flush(self) -> None:
        """Nothing is sent before the end."""

    def readable(self) -> bool:
        """Never."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Never."""
        return False

    def close(self) -> None:
        """Publish what was written."""
        if self._file.closed:
            return
        self._file.flush()
        try:
            self._publish(self._file.name)
        finally:
            self._file.close()
