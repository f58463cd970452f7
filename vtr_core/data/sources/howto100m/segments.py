"""Clips from narration: timed captions, sorted, checked, and merged up to a minimum duration."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import Drops
from vtr_core.text.tokens.vocabulary import tokenise


@dataclass(frozen=True, order=True)
class Segment:
    """A caption and its time span in seconds."""

    start: float
    end: float
    text: str


def usable(rows: Iterable[tuple[object, object, object]], where: str, drops: Drops) -> list[Segment]:
    """The (start, end, text) `rows` that can be used, sorted by start; the others are dropped and counted.

    Dropped are times that are no numbers from 0 on, end ≤ start, captions without a word, and repeated rows.
    """
    kept: dict[Segment, None] = {}
    for start, end, text in rows:
        segment = Segment(_seconds(start), _seconds(end), text if isinstance(text, str) else "")
        what = f"{where}, from {start} to {end} s"
        if math.isnan(segment.start) or math.isnan(segment.end):
            drops.drop(Reason.BAD_TIME, f"{what}: times must be seconds from 0 on")
        elif segment.end <= segment.start:
            drops.drop(Reason.END_BEFORE_START, f"{what}: the end must come after the start")
        elif not tokenise(segment.text):
            drops.drop(Reason.EMPTY_CAPTION, f"{what}: the caption {text!r} holds no word")
        elif segment in kept:
            drops.drop(Reason.DUPLICATE_ID, f"{what}: the same row again")
        else:
            kept[segment] = None
    return sorted(kept)


def merge(segments: Sequence[Segment], min_time: float) -> list[Segment]:
    """`segments`, sorted by start, joined in order into clips of at least `min_time` seconds that share no caption.

    A clip takes the following captions until end − start ≥ min_time; where none follows, it goes to the clip before.
    So every caption is used once, unlike in `overlapping`. A video whose captions last less than `min_time` altogether
    is one clip.
    """
    clips: list[Segment] = []
    pending: list[Segment] = []
    for segment in segments:
        pending.append(segment)
        # No earlier caption has reached `min_time`, so only the end of this one can.
        if segment.end - pending[0].start >= min_time:
            clips.append(_joined(pending))
            pending = []
    if pending:
        clips[-1:] = [_joined([*clips[-1:], *pending])]
    return clips


def overlapping(segments: Sequence[Segment], min_time: float) -> list[Segment]:
    """A clip for each of `segments`, sorted by start: its caption, extended to neighbours until it lasts `min_time`.

    As HowTo100M's published loader (youtube_dataloader.py of antoine77340/howto100m at 50af0ff): while
    end − start < min_time, the clip takes the caption before it or the one after it, whichever leaves it shorter, and
    of equal ones the one before; where there is none on one side, that of the other. It ends where its last caption
    does. The words are those of its own caption and then of the others as they were taken, which matters where words
    are cut. The loader draws a caption at random and computes this; here all are there to be drawn from.
    """
    return [_extended(segments, own, min_time) for own in range(len(segments))]


def _extended(segments: Sequence[Segment], own: int, min_time: float) -> Segment:
    first = last = own
    taken = [segments[own]]
    while segments[last].end - segments[first].start < min_time and len(taken) < len(segments):
        has_next, has_previous = last + 1 < len(segments), first > 0
        if has_previous and not (has_next and _gain(segments, first, last) < 0):
            first -= 1
            taken.append(segments[first])
        else:
            last += 1
            taken.append(segments[last])
    return Segment(segments[first].start, segments[last].end, _text(taken))


def _gain(segments: Sequence[Segment], first: int, last: int) -> float:
    """Seconds by which the clip from `first` to `last` is longer with the next caption than with the one before."""
    with_next = segments[last + 1].end - segments[first].start
    return with_next - (segments[last].end - segments[first - 1].start)


def _joined(segments: Sequence[Segment]) -> Segment:
    return Segment(segments[0].start, max(segment.end for segment in segments), _text(segments))


def _text(segments: Sequence[Segment]) -> str:
    return " ".join(segment.text.strip() for segment in segments)


def _seconds(value: object) -> float:
    """The value as seconds; NaN for what is not a finite number from 0 on."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return seconds if 0 <= seconds < math.inf else math.nan
