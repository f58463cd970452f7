"""Slow, obvious code for video files: every frame decoded, then the right ones chosen."""

from pathlib import Path

import av


def frame_times(path: Path) -> tuple[list[float], float]:
    """The time of every frame, in order, from the container's beginning, and where the last one ends."""
    with av.open(str(path)) as container:
        zero = (container.start_time or 0) / 1e6
        frames = list(container.decode(video=0))
    times = sorted(float(frame.pts * frame.time_base) - zero for frame in frames)
    rate = frames[-1].duration * frames[-1].time_base
    return times, times[-1] + float(rate)


def shown_at(times: list[float], end: float, rate: float) -> list[int]:
    """The frame that is shown in the middle of each 1/rate seconds: the last one that began by then, else the first."""
    chosen = []
    k = 0
    while (k + 0.5) / rate < end or k == 0:
        began = [i for i, time in enumerate(times) if time <= (k + 0.5) / rate]
        chosen.append(began[-1] if began else 0)
        k += 1
    return chosen
