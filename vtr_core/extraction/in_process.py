"""Extraction in the command's process: whole videos and spans of long ones decoded in parallel."""

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice

from vtr_core.extraction.features import Extracted, Unusable, assemble, unusable
from vtr_core.extraction.networks import Chosen, Networks, Rows, streams
from vtr_core.storage import StorageError
from vtr_core.video.decoders import VideoFault
from vtr_core.video.decoding import size_of, whole
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.streams import Chunk, Cut, End, Span, Stream, spans


@dataclass(frozen=True)
class Piece:
    """A video, by its position, or a span of it; the video has `of` pieces."""

    video: int
    uri: str
    span: Span | None = None
    of: int = 1


def pieces(video: int, uri: str, streams: Sequence[Stream], cut: Cut, process: DecodingProcess) -> tuple[Piece, ...]:
    """The pieces of a video, one unless it is long. Faults of the file are reported by its decoding, not here."""
    try:
        found = spans(process.cuttable_length(uri), streams, cut)
    except (VideoFault, StorageError):
        found = ()
    return tuple(Piece(video, uri, span, len(found)) for span in found) or (Piece(video, uri),)


@dataclass
class _Video:
    """The rows, chunk counts and ends received of one video."""

    rows: list[Rows] = field(default_factory=list)
    chunks: int = 0
    expected: int = 0
    ends: list[End] = field(default_factory=list)


class Gathering:
    """Reassembly of videos from chunks and ends of pieces that arrive in any order."""

    def __init__(self, names: Sequence[str]) -> None:
        """names: the recipes' names."""
        self._names = names
        self._open: dict[int, _Video] = {}
        self._faulty: set[int] = set()

    def fault(self, piece: Piece, fault: Unusable) -> Iterator[tuple[int, Extracted]]:
        """Report an unusable piece, which makes its video unusable; a video's fault is yielded once."""
        self._open.pop(piece.video, None)
        if piece.video not in self._faulty:
            self._faulty.add(piece.video)
            yield piece.video, fault

    def seen(self, piece: Piece, rows: Sequence[Rows], chunks: int) -> Iterator[tuple[int, Extracted]]:
        """Add the rows of `chunks` chunks of a piece; yields the video if complete."""
        if piece.video not in self._faulty:
            video = self._open.setdefault(piece.video, _Video())
            video.rows += rows
            video.chunks += chunks
            yield from self._complete(piece, video)

    def ended(self, piece: Piece, end: End, chunks: int) -> Iterator[tuple[int, Extracted]]:
        """Add the end of a piece, which had `chunks` chunks; yields the video if complete."""
        if piece.video not in self._faulty:
            video = self._open.setdefault(piece.video, _Video())
            video.ends.append(end)
            video.expected += chunks
            yield from self._complete(piece, video)

    def _complete(self, piece: Piece, video: _Video) -> Iterator[tuple[int, Extracted]]:
        if len(video.ends) < piece.of or video.chunks < video.expected:
            return
        try:
            duration = whole(video.ends, piece.uri).duration
        except VideoFault as fault:
            yield from self.fault(piece, unusable(fault))
        else:
            del self._open[piece.video]
            yield piece.video, assemble(video.rows, duration, self._names, piece.uri)


def extract_here(
    uris: Sequence[str], chosen: Sequence[Chosen], how: Decoding, device: str, at_once: int
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in order of completion; `at_once` decoders feed the networks.

    The networks take one chunk of fixed size at a time, and long videos are cut into fixed spans, so that features do
    not depend on `at_once`.
    """
    networks = Networks(chosen, device)
    free: queue.SimpleQueue[DecodingProcess] = queue.SimpleQueue()
    with ExitStack() as stack:
        decoders = [stack.enter_context(DecodingProcess(how)) for _ in range(at_once)]
        for decoder in decoders:
            free.put(decoder)
        pool = stack.enter_context(ThreadPoolExecutor(at_once))
        waiting = _pieces(uris, chosen, how, stack.enter_context(DecodingProcess(how)))

        def one(piece: Piece) -> "_Seen | Unusable":
            decoder = free.get()
            try:
                return _seen(decoder, networks, chosen, piece)
            finally:
                free.put(decoder)

        gathering = Gathering([one.recipe.name for one in chosen])
        running: dict[Future[_Seen | Unusable], Piece] = {}
        try:
            while True:
                for piece in islice(waiting, at_once + 1 - len(running)):
                    running[pool.submit(one, piece)] = piece
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from _gathered(gathering, running.pop(future), future.result())
        finally:
            for future in running:
                future.cancel()
            for decoder in decoders:  # also ends decoding whose result is no longer needed
                decoder.close()


_Seen = tuple[list[Rows], int, End]
"""The rows of a piece, its number of chunks, and its End."""


def _pieces(uris: Sequence[str], chosen: Sequence[Chosen], how: Decoding, process: DecodingProcess) -> Iterator[Piece]:
    for video, uri in enumerate(uris):
        if size_of(uri) < how.cut.min_bytes:
            yield Piece(video, uri)
        else:
            yield from pieces(video, uri, streams(chosen), how.cut, process)


def _seen(decoder: DecodingProcess, networks: Networks, chosen: Sequence[Chosen], piece: Piece) -> _Seen | Unusable:
    """The features of a piece; decoding of the next chunk overlaps with the networks' work on this one."""
    rows: list[Rows] = []
    chunks = 0
    try:
        for part in decoder.decode(piece.uri, streams(chosen), piece.span):
            if isinstance(part, End):
                return rows, chunks, part
            assert isinstance(part, Chunk)
            rows += networks.rows(part)
            chunks += 1
    except VideoFault as fault:
        return unusable(fault)
    raise AssertionError("a decoder ends with an End or a fault")


def _gathered(gathering: Gathering, piece: Piece, found: _Seen | Unusable) -> Iterator[tuple[int, Extracted]]:
    if isinstance(found, Unusable):
        yield from gathering.fault(piece, found)
    else:
        rows, chunks, end = found
        yield from gathering.seen(piece, rows, chunks)
        yield from gathering.ended(piece, end, chunks)
