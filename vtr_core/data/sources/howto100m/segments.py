"""Clips from narration: timed captions put in order, checked, and merged until they last long enough."""

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

    As in the HowTo100M loader (Miech et al. 2019), a clip takes the following captions until end − start ≥ min_time,
    and where none follows, it goes to the clip before. The loader begins at a caption drawn at random; here the first
    clip begins at the first caption and each other one where the last ended, so that every caption is used once. A
    video whose captions last less than `min_time` altogether is one clip.
    """
    clips: list[Segment] = []
    pending: list[Segment] = []
    for segment in segments:
        pending.append(segment)
        # None of those before has reached `min_time`, so only the end of this one can.
        if segment.end - pending[0].start >= min_time:
            clips.append(_joined(pending))
            pending = []
    if pending:
        clips[-1:] = [_joined([*clips[-1:], *pending])]
    return clips


def _joined(segments: Sequence[Segment]) -> Segment:
    text = " ".join(segment.text.strip() for segment in segments)
    return Segment(segments[0].start, max(segment.end for segment in segments), text)


def _seconds(value: object) -> float:
    """The value as seconds; NaN for what is not a finite number from 0 on."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return seconds if 0 <= seconds < math.inf else math.nan
