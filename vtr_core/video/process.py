"""Decoding in a separate process, so that a video that hangs or crashes does not affect others."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from types import TracebackType

from vtr_core.storage import StorageError
from vtr_core.video.decoders import Decoder, Fault, VideoFault
from vtr_core.video.streams import Chunk, Cut, End, Span, Stream


@dataclass(frozen=True)
class Decode:
    """A request for decoding; answered by chunks and an End, or a fault."""

    uri: str
    streams: tuple[Stream, ...]
    span: Span | None


@dataclass(frozen=True)
class Measure:
    """A request for `cuttable_length`; answered by its seconds, or a fault."""

    uri: str


@dataclass(frozen=True)
class Limits:
    """Limits of decoding one video."""

    silent_s: float = 300.0
    """Longest time in seconds without output of the decoder."""
    max_bytes: int = 4 * 2**30
    """Memory of the decoder."""


@dataclass(frozen=True)
class Decoding:
    """Settings of decoding."""

    limits: Limits = Limits()
    decoder: Decoder = "pyav"
    device: str = "cpu"
    """Device of torchcodec's decoding."""
    cut: Cut = field(default_factory=Cut)


class DecodingProcess:
    """One decoding process, started at first use, for one video at a time, and replaced when lost."""

    def __init__(self, how: Decoding) -> None:
        self._how = how
        self._child: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._closing = threading.Lock()

    def decode(self, uri: str, streams: Sequence[Stream], span: Span | None = None) -> Iterator[Chunk | End]:
        """As `decoding.decode`, within the limits; VideoFault also where they are exceeded.

        StorageError for an unreachable store.
        """
        with closing(self._asked(Decode(uri, tuple(streams), span))) as parts:
            for part in parts:
                assert isinstance(part, (Chunk, End))
                yield part

    def cuttable_length(self, uri: str) -> float:
        """As `decoding.cuttable_length`, within the limits."""
        (length,) = self._asked(Measure(uri))
        assert isinstance(length, float)
        return length

    def _asked(self, request: Decode | Measure) -> Generator[Chunk | End | float]:
        """The parts of the answer; the process is ended after faults, and where the caller stops early."""
        connection = self._ready()
        complete = False
        try:
            connection.send(request)
            while not complete:
                part = self._received(connection, request.uri)
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

    def _received(self, connection: Connection, uri: str) -> Chunk | End | float | VideoFault | StorageError:
        """The next message, which may be a reported fault; raises VideoFault where the decoder is lost."""
        try:
            if not connection.poll(self._how.limits.silent_s):
                what = f"{uri}: the decoder gave nothing for {self._how.limits.silent_s:g} s"
                raise VideoFault(Fault.DECODING_TOO_SLOW, what)
            received: Chunk | End | float | VideoFault | StorageError = connection.recv()
        except (EOFError, ConnectionError) as error:
            raise VideoFault(Fault.DECODER_DIED, f"{uri}: the decoder ended its process") from error
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
            arguments = [str(theirs.fileno()), str(self._how.limits.max_bytes), self._how.decoder, self._how.device]
            self._child = subprocess.Popen(
                [sys.executable, "-m", "vtr_core.video.child", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        self._connection = Connection(ours.detach())
