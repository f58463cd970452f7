"""The progress remark of an extraction: its speed relative to playback, and dropped videos."""

from vtr_core.extraction.shards import Progress


def remark(progress: Progress, elapsed_s: float) -> str:
    """Speed relative to playback, and dropped videos."""
    times = progress.seconds / max(elapsed_s, 1e-9)
    speed = f"{times:.{0 if times >= 10 else 1}f} times as fast as they play"
    return f"{speed}; {progress.dropped} dropped" if progress.dropped else speed
