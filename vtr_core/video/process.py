"""Decoding in a process of its own, which a broken file may end, and the program of that process.

The program decodes video after video for the process that started it, within limits, and ends with its parent.
Arguments: the descriptor of its connection, and the limit of bytes in addition to those in use at its start.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import IO

from vtr_core.errors import VtrError, one_line
from vtr_core.process_limits import limit
from vtr_core.storage import StorageError
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.decoding import decode, located
from vtr_core.video.streams import Chunk, End, Stream


@dataclass(frozen=True)
class Request:
    """A request for decoding; answered by chunks and an End, or a fault."""

    uri: str
    streams: tuple[Stream, ...]


class DecoderError(VtrError):
    """Decoding processes do not begin on this machine, whatever the video is."""


@dataclass(frozen=True)
class Limits:
    """Limits of decoding one video."""

    silent_s: float = 300.0
    """Longest time in seconds without output of the decoder."""
    max_bytes: int = 4 * 2**30
    """Memory of the decoder."""


_CODE = Path(__file__).parents[2]
_READY = "ready"
_READY_S = 300.0
"""For the start of a process, which on a busy machine takes long."""
_LAST_WORDS = 4096
"""Bytes at the end of what a process has written that are looked through for its last line."""


class DecodingProcess:
    """One decoding process, started at first use, for one video at a time, and replaced when lost."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._child: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._words: IO[bytes] | None = None
        """What the process writes to its standard error."""
        self._closing = threading.Lock()

    def decode(self, uri: str, streams: Sequence[Stream]) -> Iterator[Chunk | End]:
        """As `decoding.decode`, within the limits; UnusableError also where they are exceeded.

        StorageError for an unreachable store, DecoderError where no process begins. The process is ended where it is
        lost, and where the caller stops early.
        """
        connection = self._ready()
        complete = False
        try:
            connection.send(Request(uri, tuple(streams)))
            while not complete:
                part = self._received(connection, uri)
                complete = not isinstance(part, Chunk)
                if isinstance(part, Exception):
                    raise part
                yield part
        finally:
            if not complete:
                self.close()

    @property
    def pid(self) -> int | None:
        """The id of the current process; None without one."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process; any thread may, also while another one waits for the decoder and then ends it too."""
        with self._closing:
            child, connection = self._child, self._connection
            self._child = self._connection = None
            if child is not None:
                assert connection is not None
                assert self._words is not None
                child.kill()
                child.communicate()
                connection.close()
                self._words.close()

    def __enter__(self) -> "DecodingProcess":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _received(self, connection: Connection, uri: str) -> Chunk | End | UnusableError | StorageError:
        """The next message, which may be a reported fault; raises UnusableError where the decoder is lost."""
        try:
            if not connection.poll(self._limits.silent_s):
                message = f"{uri}: the decoder gave nothing for {self._limits.silent_s:g} s"
                raise UnusableError(Reason.DECODING_TOO_SLOW, message)
            received: Chunk | End | UnusableError | StorageError = connection.recv()
        except (EOFError, ConnectionError) as error:
            raise UnusableError(Reason.DECODER_DIED, f"{uri}: the decoder ended its process{self._end()}") from error
        return received

    def _end(self) -> str:
        """How the process ended, in brackets: the signal or exit code, and the last line that it wrote."""
        with self._closing:
            if self._child is None or self._words is None:  # closed meanwhile
                return ""
            code, size = self._child.wait(), os.fstat(self._words.fileno()).st_size
            written = os.pread(self._words.fileno(), _LAST_WORDS, max(0, size - _LAST_WORDS))
        lines = written.decode(errors="replace").strip().splitlines()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f" ({how}: {one_line(lines[-1])})" if lines else f" ({how})"

    def _ready(self) -> Connection:
        if self._connection is None or self._child is None or self._child.poll() is not None:
            self.close()
            self._start()
        assert self._connection is not None
        return self._connection

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        with theirs:
            arguments = [str(theirs.fileno()), str(self._limits.max_bytes)]
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "vtr_core.video.process", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_paths())},
            )
        self._connection = Connection(ours.detach())
        try:
            begun = self._connection.poll(_READY_S) and self._connection.recv() == _READY
        except (EOFError, ConnectionError) as error:
            raise DecoderError(f"no decoder can be started on this machine{self._end()}") from error
        if not begun:
            raise DecoderError(f"no decoder began on this machine within {_READY_S:g} s; is it busy?")


def _import_paths() -> list[str]:
    """Where this process imports from, without the working directory, whose files would replace modules of Python."""
    here = Path.cwd()
    return [path for path in sys.path if path and (Path(path) == _CODE or Path(path).absolute() != here)]


def main(descriptor: int, max_bytes: int) -> None:
    """Answer requests until the connection is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit(max_bytes, "addresses")
    connection: Connection = Connection(descriptor)
    connection.send(_READY)
    while True:
        try:
            request: Request = connection.recv()
        except EOFError:
            return
        try:
            for part in decode(located(request.uri), request.streams):
                connection.send(part)
        except (UnusableError, StorageError) as fault:
            connection.send(fault)
        except MemoryError:
            message = f"{request.uri} needs more memory than it may have"
            connection.send(UnusableError(Reason.DECODING_TOO_LARGE, message))


def _end_with_parent() -> None:
    """End this process when its standard input, whose other end the parent holds, is closed."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
