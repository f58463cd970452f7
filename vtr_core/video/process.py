"""Decoding in a process of its own, which a broken file may end, and the program of that process.

The program decodes video after video for the process that started it, within limits, and ends with its parent.
Arguments: the descriptor of its connection, and the limit of bytes in addition to those in use at its start.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType

from vtr_core.process_limits import limit
from vtr_core.storage import StorageError
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.decoding import decode, located
from vtr_core.video.streams import Chunk, End, Span, Stream


@dataclass(frozen=True)
class Request:
    """A request for decoding; answered by chunks and an End, or a fault."""

    uri: str
    streams: tuple[Stream, ...]
    span: Span | None


@dataclass(frozen=True)
class Limits:
    """Limits of decoding one video."""

    silent_s: float = 300.0
    """Longest time in seconds without output of the decoder."""
    max_bytes: int = 4 * 2**30
    """Memory of the decoder."""


class DecodingProcess:
    """One decoding process, started at first use, for one video at a time, and replaced when lost."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._child: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._closing = threading.Lock()

    def decode(self, uri: str, streams: Sequence[Stream], span: Span | None = None) -> Iterator[Chunk | End]:
        """As `decoding.decode`, within the limits; UnusableError also where they are exceeded.

        StorageError for an unreachable store. The process is ended where it is lost, and where the caller stops early.
        """
        connection = self._ready()
        complete = False
        try:
            connection.send(Request(uri, tuple(streams), span))
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
                child.kill()
                child.communicate()
                connection.close()

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
            raise UnusableError(Reason.DECODER_DIED, f"{uri}: the decoder ended its process") from error
        return received

    def _ready(self) -> Connection:
        if self._connection is None or self._child is None or self._child.poll() is not None:
            self.close()
            self._start()
        assert self._connection is not None
        return self._connection

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = [str(theirs.fileno()), str(self._limits.max_bytes)]
            self._child = subprocess.Popen(
                [sys.executable, "-m", "vtr_core.video.process", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        self._connection = Connection(ours.detach())


def main(descriptor: int, max_bytes: int) -> None:
    """Answer requests until the connection is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit(max_bytes, "addresses")
    connection: Connection = Connection(descriptor)
    while True:
        try:
            request: Request = connection.recv()
        except EOFError:
            return
        try:
            for part in decode(located(request.uri), request.streams, request.span):
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
