"""Pieces, the units of decoding: whole videos and spans of long ones, and their reassembly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vtr_core.extraction.features import Extracted, Unusable, assemble, unusable
from vtr_core.extraction.networks import Rows
from vtr_core.storage import StorageError
from vtr_core.video.decoding import whole
from vtr_core.video.faults import VideoFault
from vtr_core.video.process import DecodingProcess
from vtr_core.video.spans import Cut, Span, spans
from vtr_core.video.streams import End, Stream


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
