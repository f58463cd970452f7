"""The progress remark of an extraction: its speed relative to playback, and dropped videos."""

from vtr_core.extraction.shards import Progress


def remark(progress: Progress, elapsed_s: float) -> str:
    """Speed relative to playback, and dropped videos."""
    speed = f"{progress.seconds / max(elapsed_s, 1e-9):.0f} times as fast as they play"
    return f"{speed}; {progress.dropped} dropped" if progress.dropped else speed
