"""Progress lines of an extraction: state, speed and remaining time."""

import time
from collections.abc import Callable

from vtr_core.extraction.shards import Progress

_EVERY_S = 10.0


class Meter:
    """Prints a line every ten seconds, and one at the end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = self._told = clock()

    def tell(self, progress: Progress) -> None:
        """Print `progress` if a line is due."""
        now = self._clock()
        if progress.videos < progress.of and now - self._told < _EVERY_S:
            return
        self._told = now
        print(line(progress, max(now - self._begun, 1e-9)), flush=True)


def line(progress: Progress, elapsed_s: float) -> str:
    """Number of videos, speed relative to playback, dropped videos, and minutes left."""
    parts = [
        f"  {progress.videos} of {progress.of} videos",
        f"{progress.videos / elapsed_s:.1f} a second, {progress.seconds / elapsed_s:.0f} times as fast as they play",
    ]
    if progress.dropped:
        parts.append(f"{progress.dropped} dropped")
    if progress.videos < progress.of:
        left = (progress.of - progress.videos) * elapsed_s / progress.videos
        parts.append(f"{left / 60:.0f} min left" if left >= 90 else f"{left:.0f} s left")
    return "; ".join(parts)
