"""Requests to a decoding process."""

from dataclasses import dataclass

from vtr_core.video.spans import Span
from vtr_core.video.streams import Stream


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
