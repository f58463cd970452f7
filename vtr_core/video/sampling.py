"""Frame sampling by presentation time, never by index."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """`per_second` frames a second: sample k is the frame shown at (k + ½) / per_second, the middle of its interval.

    There is a sample for every such time before the video's end, and at least one.
    """

    per_second: float

    def time(self, index: int) -> float:
        """The time of a sample in seconds from the beginning."""
        return (index + 0.5) / self.per_second


@dataclass(frozen=True)
class Uniform:
    """`count` frames of a video: those shown in the middle of its `count` equal parts."""

    count: int


class Sampler:
    """Counts, frame by frame in order of time, the samples that fall on each frame.

    A frame is shown until the next one; the first one also before its time, the last one for its own duration.
    """

    def __init__(self, sampling: Rate | Uniform, duration: float, first: int = 0, end: int | None = None) -> None:
        """duration: the video's, in seconds, for Uniform alone; where the video is shorter, its last frame is repeated.

        first, end: the range [first, end) of samples.
        """
        self._exactly = sampling.count if isinstance(sampling, Uniform) else None
        self._rate = Rate(sampling.count / duration) if isinstance(sampling, Uniform) else sampling
        self._taken = first
        self._end = self._exactly or end

    @property
    def next_time(self) -> float | None:
        """The time of the next sample, in seconds from the beginning; None where there is none."""
        return None if self._taken == self._end else self._rate.time(self._taken)

    def shown_until(self, end: float) -> int:
        """The number of samples on the frame that is shown until `end`, in seconds from the beginning."""
        before = self._taken
        while self._rate.time(self._taken) < end and self._taken != self._end:
            self._taken += 1
        return self._taken - before

    def last_shown_until(self, end: float) -> int:
        """As `shown_until` for the last frame, which is the one sample of a video shorter than half an interval."""
        before = self._taken
        self.shown_until(end)
        self._taken = self._exactly or max(self._taken, 1)
        return self._taken - before
