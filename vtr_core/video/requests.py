"""What a decoding process is asked."""

from dataclasses import dataclass

from vtr_core.video.spans import Span
from vtr_core.video.streams import Stream


@dataclass(frozen=True)
class Decode:
    """Answered by chunks and an End, or a fault."""

    uri: str
    streams: tuple[Stream, ...]
    span: Span | None


@dataclass(frozen=True)
class Measure:
    """Answered by the seconds that `cuttable_length` finds, or a fault."""

    uri: str
