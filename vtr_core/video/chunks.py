"""Decoded pictures and sound, resampled and aligned in time, as chunks of a stream's size."""

from collections.abc import Iterator

import av.error
import numpy as np
from av import AudioFrame, AudioResampler, VideoFrame
from jaxtyping import Float32, UInt8

from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.streams import Chunk, PictureStream, Sampler, SoundStream, picture

MAX_LEAP_S = 600.0
"""The longest accepted silence or still picture in seconds: longer gaps come from damaged times."""
_SMALLEST_GAP_S = 0.1


class SoundReader:
    """Converts decoded audio frames, in order, to samples. Time 0 is the video's beginning; gaps are silence, and what
    overlaps is cut, so that a sample lies where its time stamp says, to a tenth of a second.
    """

    def __init__(self, sample_rate: int, where: str) -> None:
        self._resampler = AudioResampler(format="flt", layout="mono", rate=sample_rate)
        self._shape: tuple[str, str, int] | None = None
        self._rate, self._where = sample_rate, where
        self._expected = 0.0
        self._is_first = True
        self._surplus = 0

    def take(self, frame: AudioFrame, start: float | None) -> Iterator[Float32[np.ndarray, " samples"]]:
        """The samples of `frame`, which begins at `start` seconds; None: where the frame before it ended."""
        shape = (frame.format.name, frame.layout.name, frame.sample_rate)
        if self._shape not in (None, shape):  # as in joined files
            yield from self._resampled(None)
            self._resampler = AudioResampler(format="flt", layout="mono", rate=self._rate)
        self._shape = shape
        length = frame.samples / frame.sample_rate
        gap = 0.0 if start is None else start - self._expected
        if gap > MAX_LEAP_S:
            raise UnusableError(Reason.BAD_FRAME_TIMES, f"{self._where}: its sound leaps by {gap:.0f} s")
        if abs(gap) > (0.0 if self._is_first else _SMALLEST_GAP_S):
            cut = min(-gap, length) if gap < 0 else 0.0
            self._surplus += round(cut * self._rate)
            if gap > 0:
                yield np.zeros(round(gap * self._rate), np.float32)
                self._expected += gap
            length -= cut
        self._expected += length
        self._is_first = self._is_first and length <= 0
        yield from self._resampled(frame)

    def rest(self) -> Iterator[Float32[np.ndarray, " samples"]]:
        """The samples left in the resampler at the end."""
        if self._shape is not None:
            yield from self._resampled(None)

    def _resampled(self, frame: AudioFrame | None) -> Iterator[Float32[np.ndarray, " samples"]]:
        try:
            resampled = self._resampler.resample(frame)
        except av.error.EOFError:
            return
        for part in resampled:
            samples = part.to_ndarray().reshape(-1)
            cut = min(self._surplus, len(samples))
            self._surplus -= cut
            yield samples[cut:]


class PictureChunks:
    """The chunks of one stream of pictures. Only frames that are samples are scaled."""

    def __init__(self, position: int, stream: PictureStream, duration: float) -> None:
        self._position, self._stream, self._index = position, stream, 0
        self._sampler = Sampler(stream.rate, duration)
        self._pictures: list[UInt8[np.ndarray, "height width 3"]] = []

    def shown(self, frame: VideoFrame, until: float) -> Iterator[Chunk]:
        """The chunks that are completed by `frame`, which is shown until `until`, in seconds."""
        yield from self._add(frame, self._sampler.shown_until(until))

    def last(self, frame: VideoFrame, until: float) -> Iterator[Chunk]:
        """The chunks that are left after the last frame."""
        yield from self._add(frame, self._sampler.last_shown_until(until))
        yield from self._chunk()

    def _add(self, frame: VideoFrame, count: int) -> Iterator[Chunk]:
        pixels = picture(frame, self._stream.picture) if count else None
        for _ in range(count):
            assert pixels is not None
            self._pictures.append(pixels)
            if len(self._pictures) == self._stream.chunk:
                yield from self._chunk()

    def _chunk(self) -> Iterator[Chunk]:
        """The pictures since the last chunk, if there are any."""
        if self._pictures:
            if len({pixels.shape for pixels in self._pictures}) > 1:
                message = "its frames change their size, and the recipe takes whole frames"
                raise UnusableError(Reason.DAMAGED_VIDEO, message)
            yield Chunk(self._position, self._index, np.stack(self._pictures))
            self._index += 1
            self._pictures = []


class SoundChunks:
    """The chunks of one stream of sound."""

    def __init__(self, position: int, stream: SoundStream, where: str) -> None:
        self._position, self._stream = position, stream
        self._reader = SoundReader(stream.sample_rate, where)
        self._samples: list[Float32[np.ndarray, " samples"]] = []
        self._count = 0
        self._index = 0

    def take(self, frame: AudioFrame, start: float | None) -> Iterator[Chunk]:
        """The chunks that are full with `frame`, which begins at `start` seconds where that is known."""
        yield from self._add(self._reader.take(frame, start))

    def last(self) -> Iterator[Chunk]:
        """The chunks that are left after the last frame."""
        yield from self._add(self._reader.rest())
        if self._count:
            yield self._chunk(np.concatenate(self._samples))

    def _add(self, parts: Iterator[Float32[np.ndarray, " samples"]]) -> Iterator[Chunk]:
        for part in parts:
            self._samples.append(part)
            self._count += len(part)
            while self._count >= self._stream.chunk + self._stream.overlap:
                size, samples = self._stream.chunk, np.concatenate(self._samples)
                self._samples, self._count = [samples[size:]], len(samples) - size
                yield self._chunk(samples[: size + self._stream.overlap])

    def _chunk(self, samples: Float32[np.ndarray, " samples"]) -> Chunk:
        chunk = Chunk(self._position, self._index, samples)
        self._index += 1
        return chunk
