"""Spans of long videos, decoded in parallel, with exactly the chunks of one pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from vtr_core.video.sampling import Rate
from vtr_core.video.streams import PictureStream, Stream

MARGIN_S = 10.0
"""Decoding begins at a key frame at least this long before the first sample: with gradual refresh, encoders mark frames
as key frames whose pictures are complete only later."""


@dataclass(frozen=True)
class Span:
    """A part of a video's decoding: some of the streams, and of these the chunks that begin in an interval."""

    streams: tuple[int, ...]
    """Positions among the requested streams."""
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
    """Settings of the division of videos into spans."""

    span_s: float = 960.0
    """Seconds of pictures in a span: a whole number of chunks of every recipe."""
    longer_than_s: float = 1440.0
    """Shorter videos are decoded by one decoder."""
    min_bytes: int = 48 * 2**20
    """Smaller files are decoded by one decoder, without a look at their duration."""


def spans(length: float, streams: Sequence[Stream], cut: Cut) -> tuple[Span, ...]:
    """The spans of a video of `length` seconds: pictures at a rate are divided, sound and other pictures are not; ()
    stands for one pass over the whole video.

    Sound is one span of its own, since many audio codecs yield other samples after seeking; its decoding is hundreds
    of times as fast as playback.
    """
    seen = tuple(i for i, one in enumerate(streams) if isinstance(one, PictureStream) and isinstance(one.rate, Rate))
    if length <= cut.longer_than_s or not seen:
        return ()
    borders = [number * cut.span_s for number in range(math.ceil(length / cut.span_s))]
    heard = tuple(i for i, one in enumerate(streams) if not isinstance(one, PictureStream))
    whole = tuple(i for i in range(len(streams)) if i not in {*seen, *heard})
    parts = [Span(seen, start, end) for start, end in pairwise([*borders, math.inf])]
    return (*(Span(one) for one in (heard, whole) if one), *parts)
