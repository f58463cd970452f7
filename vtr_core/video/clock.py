"""The clock of a video file: one for frames and sound, which goes on where the file's time stamps begin again or leap.

Files that were joined, and recordings of broadcasts, have such time stamps; a reader that believes them shows half the
pictures beside all of the sound.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from av import Packet
from av.container import InputContainer
from av.format import Flags
from av.stream import Stream
from av.video.stream import VideoStream

T = TypeVar("T")
DEPTH = 4
"""Frames in the reordering buffer, the largest reordering in formats without presentation times."""
USUAL_FRAME_S = 0.04
_JITTER_S, _RECENT, _ORDERED = 0.1, 8, 3
"""Seconds by which a time stamp may lie before all of a stream's last ones: more of them than are out of order, fewer
in formats that store decoding times. A single wrong one does not move those after it."""
_PARTS = 8
"""Parts whose clocks are tried."""
_LEAP_S = 10.0
"""Seconds that formats without a beginning (MPEG, Ogg) may leave out; a longer leap is no gap but another clock: the
`dts_delta_threshold` of FFmpeg's programs. In other formats a leap is a still picture and silence."""


@dataclass
class _Place:
    """Where a stream is: its part of the file, its last decoding times by the clock, and its end so far in ticks."""

    time_base: Fraction
    times: deque[float]
    part: int
    end: int = 0

    def __post_init__(self) -> None:
        self.tick_s = float(self.time_base)


class Clock:
    """Moves the times of packets, in the order of the file, so that each part begins where all before it has ended.

    A part begins where the time stamps of a stream go back, or leap (`_LEAP_S`). Packets of other streams that still
    belong to the part before are read by its clock.
    """

    def __init__(self, container: InputContainer) -> None:
        self._zero = Fraction(container.start_time or 0, 1_000_000)
        self._zero_s = float(self._zero)
        self._may_leap = Flags.ts_discont in Flags(container.format.flags)
        self._far = _LEAP_S if self._may_leap else float("inf")
        self._shifts = [0.0]
        self._places: dict[int, _Place] = {}
        self._latest = 0.0

    @property
    def restarts(self) -> int:
        """How many times the time stamps have begun again, or have leapt."""
        return len(self._shifts) - 1

    def end(self, streams: Sequence[Stream] | None = None) -> float:
        """When the content of streams (None: of all) ends so far, in seconds from the file's beginning."""
        numbers = None if streams is None else [stream.index for stream in streams]
        places = [place for number, place in self._places.items() if numbers is None or number in numbers]
        return max([0.0, *(float(place.end * place.time_base - self._zero) for place in places)])

    def seconds(self, ticks: int | None, time_base: Fraction | None) -> float | None:
        """A time stamp as seconds from the file's beginning; None where there is none."""
        return None if ticks is None or not time_base else float(ticks * time_base - self._zero)

    def set(self, packet: Packet) -> None:
        """Move the packet's time stamps to the clock."""
        place = self._places.get(packet.stream_index)
        if place is None:
            if not packet.time_base:
                return
            recent: deque[float] = deque(maxlen=_ORDERED if self._may_leap else _RECENT)
            place = _Place(packet.time_base, recent, len(self._shifts) - 1)
            self._places[packet.stream_index] = place
        dts, pts = packet.dts, packet.pts
        if dts is not None:
            time = dts * place.tick_s - self._zero_s
            if self.restarts or not self._fits(time, place):
                place.part = self._part(time, time if pts is None else pts * place.tick_s - self._zero_s, place)
            now = time + self._shifts[place.part]
            place.times.append(now)
            self._latest = max(self._latest, now)
        if place.part:
            ticks = round(self._shifts[place.part] / place.tick_s)
            dts = packet.dts = None if dts is None else dts + ticks
            pts = packet.pts = None if pts is None else pts + ticks
        shown = dts if pts is None else pts
        if shown is not None:
            place.end = max(place.end, shown + (packet.duration or 0))

    def _fits(self, now: float, place: _Place) -> bool:
        """Whether a stream may go on at `now` by the clock; it may begin at any time, but not by another clock."""
        if not place.times:
            return abs(now - self._latest) <= self._far
        return min(place.times) - _JITTER_S <= now <= max(place.times[-1], self._latest) + self._far

    def _part(self, time: float, shown: float, place: _Place) -> int:
        """The part of a packet: that by whose clock it is nearest to the one before, of those that fit, else a new one.

        time, shown: its decoding time, and when it is shown, in seconds as the file states them.
        """
        last = len(self._shifts) - 1
        before = place.times[-1] if place.times else self._latest
        parts = {place.part, *range(max(0, last - _PARTS), last + 1)} if place.times else {last}
        fitting = [part for part in sorted(parts) if self._fits(time + self._shifts[part], place)]
        if fitting:
            return min(fitting, key=lambda part: abs(time + self._shifts[part] - before))
        self._shifts.append(self.end() - shown)
        return last + 1


class OrderedTimes(Generic[T]):
    """Assigns to frames, which arrive in presentation order, the smallest unassigned time.

    AVI stores decoding times only, which are out of order with MPEG-4's bidirectional frames.
    """

    def __init__(self) -> None:
        self._frames: deque[T] = deque()
        self._times: list[float] = []

    def add(self, frame: T, time: float) -> Iterator[tuple[T, float]]:
        """Add `frame`; yields the frames that leave the buffer, each with its time."""
        self._frames.append(frame)
        heapq.heappush(self._times, time)
        while len(self._frames) > DEPTH:
            yield self._next()

    def rest(self) -> Iterator[tuple[T, float]]:
        """The frames left in the buffer at the end."""
        while self._frames:
            yield self._next()

    def _next(self) -> tuple[T, float]:
        return self._frames.popleft(), heapq.heappop(self._times)


_ESTIMATED = "avi"
"""The format whose duration FFmpeg takes from the size of the file, so that a shortened file states a shorter one."""
_DURATION = "DURATION"
"""Matroska's tag of a stream's end, h:mm:ss and fractions; mkvmerge writes its language behind it (DURATION-eng)."""


def stated_end(container: InputContainer, streams: Sequence[Stream]) -> float | None:
    """When the last of `streams` ends, in seconds, as the file states; None where it does not state it of each.

    A container's own duration is that of its longest stream, which may be a subtitle that is never read.
    """
    if container.format.name == _ESTIMATED:
        return max(float((s.frames or 0) * (s.time_base or 0)) for s in streams if isinstance(s, VideoStream))
    ends = [_stated_end(stream, Fraction(container.start_time or 0, 1_000_000)) for stream in streams]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _stated_end(stream: Stream, zero: Fraction) -> float | None:
    tags = [value for key, value in stream.metadata.items() if key.partition("-")[0] == _DURATION]
    for tag in tags:
        parts = tag.split(":")
        if len(parts) == 3 and all(part.replace(".", "", 1).isdecimal() for part in parts):
            return float(parts[0]) * 3600 + float(parts[1]) * 60 + float(parts[2])
    if stream.start_time is None or not stream.duration or not stream.time_base:
        return None  # without a beginning, FFmpeg gives a stream the duration of its container
    return float((stream.start_time + stream.duration) * stream.time_base - zero)
