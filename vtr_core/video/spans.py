"""Long videos cut into spans, which several decoders decode at once, to the very chunks of one pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from vtr_core.video.sampling import Rate
from vtr_core.video.streams import PictureStream, Stream

MARGIN_S = 10.0
"""Decoding begins at a key frame this long before the first picture that is wanted, or earlier: encoders that refresh
pictures little by little call frames key frames whose pictures are whole only later."""


@dataclass(frozen=True)
class Span:
    """A part of a video's decoding: some of the streams, and of these the chunks that begin in it."""

    streams: tuple[int, ...]
    """Positions among the streams asked for."""
    start: float = 0.0
    """Seconds from the video's beginning."""
    end: float = math.inf

    def chunks(self, stream: PictureStream) -> tuple[int, int | None]:
        """The first chunk of the stream that begins in the span, and the one after the last; None: until the end."""
        if not isinstance(stream.rate, Rate):
            return 0, None
        seconds = stream.chunk / stream.rate.per_second
        return math.ceil(self.start / seconds), None if math.isinf(self.end) else math.ceil(self.end / seconds)


@dataclass(frozen=True)
class Cut:
    """Which videos are cut, and into what."""

    span_s: float = 960.0
    """Seconds of pictures that a decoder takes at once: so many chunks of every recipe, without a rest."""
    longer_than_s: float = 1440.0
    """Shorter videos are decoded by one decoder."""
    min_bytes: int = 48 * 2**20
    """Smaller files are not opened to learn their length, whatever it is."""


def spans(length: float, streams: Sequence[Stream], cut: Cut) -> tuple[Span, ...]:
    """Of a video of `length` seconds: pictures at a rate by spans, sound and other pictures whole; () is one pass.

    Sound is one span of its own, since many codecs of sound give other samples from the middle on; it is decoded
    hundreds of times as fast as it plays.
    """
    seen = tuple(i for i, one in enumerate(streams) if isinstance(one, PictureStream) and isinstance(one.rate, Rate))
    if length <= cut.longer_than_s or not seen:
        return ()
    borders = [number * cut.span_s for number in range(math.ceil(length / cut.span_s))]
    heard = tuple(i for i, one in enumerate(streams) if not isinstance(one, PictureStream))
    whole = tuple(i for i in range(len(streams)) if i not in {*seen, *heard})
    parts = [Span(seen, start, end) for start, end in pairwise([*borders, math.inf])]
    return (*(Span(one) for one in (heard, whole) if one), *parts)
