"""Decoded pictures and sound, resampled and aligned in time, as chunks of a stream's size."""

from collections.abc import Iterator

import av.error
import numpy as np
from av import AudioFrame, AudioResampler, VideoFrame
from jaxtyping import Float32, UInt8

from vtr_core.video.decoders import Fault, VideoFault
from vtr_core.video.streams import Chunk, PictureStream, Sampler, SoundStream, Span, picture

MAX_LEAP_S = 600.0
"""The longest accepted silence or still picture in seconds: longer gaps come from damaged times."""
_SMALLEST_GAP_S = 0.1


class SoundReader:
    """Converts decoded audio frames, in order, to samples. Time 0 is the video's beginning; gaps are silence."""

    def __init__(self, sample_rate: int, where: str) -> None:
        self._resampler = AudioResampler(format="flt", layout="mono", rate=sample_rate)
        self._rate, self._where = sample_rate, where
        self._expected = 0.0
        self._is_first = True
        self._surplus = 0

    def take(self, frame: AudioFrame, start: float | None) -> Iterator[Float32[np.ndarray, " samples"]]:
        """The samples of `frame`, which begins at `start` seconds; None: where the frame before it ended."""
        if start is None:
            start = self._expected
        gap = start - self._expected
        if gap > MAX_LEAP_S:
            raise VideoFault(Fault.BAD_FRAME_TIMES, f"{self._where}: its sound leaps by {gap:.0f} s")
        if gap > (0.0 if self._is_first else _SMALLEST_GAP_S):
            yield np.zeros(round(gap * self._rate), np.float32)
        elif self._is_first:
            self._surplus = round(-gap * self._rate)
        self._expected = (start if self._is_first else max(start, self._expected)) + frame.samples / frame.sample_rate
        self._is_first = False
        yield from self._resampled(frame)

    def rest(self) -> Iterator[Float32[np.ndarray, " samples"]]:
        """The samples left in the resampler at the end."""
        if not self._is_first:
            yield from self._resampled(None)

    def _resampled(self, frame: AudioFrame | None) -> Iterator[Float32[np.ndarray, " samples"]]:
        try:
            made = self._resampler.resample(frame)
        except av.error.EOFError:
            return
        for one in made:
            samples = one.to_ndarray().reshape(-1)
            cut = min(self._surplus, len(samples))
            self._surplus -= cut
            yield samples[cut:]


class PictureHolder:
    """Buffer of the pictures of one stream that do not fill a chunk yet, from the first chunk of a span on."""

    def __init__(self, position: int, stream: PictureStream, span: Span) -> None:
        self._position, self._size = position, stream.chunk
        self._index = span.chunks(stream)[0]
        self._held: list[UInt8[np.ndarray, "height width 3"]] = []

    def add(self, seen: UInt8[np.ndarray, "height width 3"]) -> Iterator[Chunk]:
        """Add a picture; yields the chunk that it completes."""
        self._held.append(seen)
        if len(self._held) == self._size:
            yield from self.rest()

    def rest(self) -> Iterator[Chunk]:
        """The incomplete chunk after the last picture."""
        if self._held:
            if len({pixels.shape for pixels in self._held}) > 1:
                raise VideoFault(Fault.DAMAGED_VIDEO, "its frames change their size, and the recipe takes whole frames")
            yield Chunk(self._position, self._index, np.stack(self._held))
            self._index += 1
            self._held = []


class PictureChunks:
    """The chunks of one stream of pictures that begin in a span. Only frames that are samples are scaled."""

    def __init__(self, position: int, stream: PictureStream, duration: float, span: Span) -> None:
        self._picture = stream.picture
        first, end = span.chunks(stream)
        last = None if end is None else end * stream.chunk
        self._sampler = Sampler(stream.rate, duration, first * stream.chunk, last)
        self._holder = PictureHolder(position, stream, span)

    @property
    def due(self) -> float | None:
        """The time of the next picture in seconds from the beginning; None when the span is complete."""
        return self._sampler.next_time

    def shown(self, frame: VideoFrame, until: float) -> Iterator[Chunk]:
        """The chunks that are completed by `frame`, which is shown until `until`, in seconds."""
        yield from self._add(frame, self._sampler.shown_until(until))

    def last(self, frame: VideoFrame, until: float) -> Iterator[Chunk]:
        """The chunks that are left after the last frame."""
        yield from self._add(frame, self._sampler.last_shown_until(until))
        yield from self._holder.rest()

    def _add(self, frame: VideoFrame, count: int) -> Iterator[Chunk]:
        if not count:
            return
        seen = picture(frame, self._picture)
        for _ in range(count):
            yield from self._holder.add(seen)


class SoundChunks:
    """The chunks of one stream of sound."""

    def __init__(self, position: int, stream: SoundStream, where: str) -> None:
        self._position, self._stream = position, stream
        self._reader = SoundReader(stream.sample_rate, where)
        self._held: list[Float32[np.ndarray, " samples"]] = []
        self._count = 0
        self._index = 0

    def take(self, frame: AudioFrame, start: float | None) -> Iterator[Chunk]:
        """The chunks that are full with `frame`, which begins at `start` seconds where that is known."""
        yield from self._add(self._reader.take(frame, start))

    def last(self) -> Iterator[Chunk]:
        """The chunks that are left after the last frame."""
        yield from self._add(self._reader.rest())
        if self._count:
            yield self._chunk(np.concatenate(self._held))

    def _add(self, parts: Iterator[Float32[np.ndarray, " samples"]]) -> Iterator[Chunk]:
        for part in parts:
            self._held.append(part)
            self._count += len(part)
            while self._count >= self._stream.chunk + self._stream.overlap:
                yield self._full()

    def _full(self) -> Chunk:
        size, held = self._stream.chunk, np.concatenate(self._held)
        self._held, self._count = [held[size:]], len(held) - size
        return self._chunk(held[: size + self._stream.overlap])

    def _chunk(self, samples: Float32[np.ndarray, " samples"]) -> Chunk:
        chunk = Chunk(self._position, self._index, samples)
        self._index += 1
        return chunk
