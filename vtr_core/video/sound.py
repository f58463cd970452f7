"""The sound of a video, resampled, mixed to one channel and aligned in time."""

from collections.abc import Iterator

import av.error
import numpy as np
from av import AudioFrame, AudioResampler
from jaxtyping import Float32

from vtr_core.video.faults import Fault, VideoFault

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
