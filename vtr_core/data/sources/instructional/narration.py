"""The narration of videos: raw captions with times from its files, merged to clips."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.data.sources.files import Row, read_table, text_of
from vtr_core.data.sources.published_captions import Member, members, read_values
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.text.tokens.vocabulary import tokenise
from vtr_core.unusable import Reason

TIMED = ("start", "end", "text")
UNTIMED = ("caption",)
_SUFFIX = ".csv"


Rows = Sequence[tuple[object, object, object]]
"""(start, end, text) of each caption; start and end are None where captions have no times."""


@dataclass(frozen=True, slots=True)
class Narration:
    """One video's rows: given at once, or in a file that is read where they are needed."""

    rows: Rows = ()
    file: Location | None = None
    """The file that has them: of this video alone, or of many, of which it is `member`."""
    member: Member | None = None
    timed: bool = True
    listed: str = ""
    """The file that given rows are from, for messages."""

    @property
    def where(self) -> str:
        """The file that has the rows, for messages."""
        return self.listed if self.file is None else str(self.file)

    def read(self) -> Rows:
        """The rows."""
        return next(read_all([self]))


def read_all(narrations: Iterable[Narration]) -> Iterator[Rows]:
    """The rows of each narration, in order; adjacent ones of a file are read together."""
    for (file, together), group in groupby(
        narrations, lambda narration: (narration.file, narration.member is not None)
    ):
        if file is not None and together:
            chosen = [narration.member for narration in group if narration.member is not None]
            for member, value in zip(chosen, read_values(file, chosen), strict=True):
                yield _rows_of(file, member.name, value)
        elif file is not None:
            for _ in group:
                yield [(row["start"], row["end"], row["text"]) for row in read_table(file, TIMED)]
        else:
            yield from (narration.rows for narration in group)


def read_narrations(uri: str) -> Iterator[tuple[str, Narration]]:
    """Every video of a caption file or folder with its narration, in the order of the file, each video once.

    A CSV has the columns video_id, start, end, text, or video_id, caption for captions of whole videos. The HowTo100M
    JSON is {video: {"start": [...], "end": [...], "text": [...]}}. A folder holds one CSV per video with start, end,
    text. What a video of a JSON or folder holds is read later. Raises InputError for anything else.
    """
    location = locate(uri)
    match location.info.type:
        case pafs.FileType.NotFound:
            raise InputError(f"there is no captions file or folder {location}")
        case pafs.FileType.Directory:
            yield from _from_folder(location)
        case _ if location.name.lower().endswith(".json"):
            listed = set[str]()
            for video, narration in _from_json(location):
                if video in listed:
                    raise InputError(f"{location} has the video {video} twice; join its captions in one object")
                listed.add(video)
                yield video, narration
        case _:
            yield from _from_table(location)


def video_ids(uri: str) -> Iterator[str]:
    """The video ids of a caption file or folder, possibly repeated, read lazily."""
    location = locate(uri)
    if location.info.type == pafs.FileType.Directory:
        yield from (video for video, _ in _from_folder(location))
    elif location.name.lower().endswith(".json"):
        yield from (video for video, _ in _from_json(location))
    else:
        yield from (row.required_id("video_id") for row in _rows(location))


def _from_folder(folder: Location) -> Iterator[tuple[str, Narration]]:
    files = [child for child in storage.children(folder) if child.name.endswith(_SUFFIX)]
    if not files:
        raise InputError(f"{folder} holds no captions; a folder must hold one <video id>.csv per video")
    for file in files:
        yield file.name.removesuffix(_SUFFIX), Narration(file=file)


def _from_json(location: Location) -> Iterator[tuple[str, Narration]]:
    for member in members(location):
        yield member.name, Narration(file=location, member=member)


def _rows_of(location: Location, video: str, value: dict[str, Any]) -> Rows:
    lists = [value.get(key) for key in TIMED]
    if not all(isinstance(part, list) for part in lists) or len({len(part or ()) for part in lists}) != 1:
        form = '{video: {"start": [...], "end": [...], "text": [...]}} with lists of equal length'
        raise InputError(f"{location}, video {video}: it must be {form}")
    return tuple(zip(*[part or [] for part in lists], strict=True))


def _from_table(location: Location) -> Iterator[tuple[str, Narration]]:
    by_video: dict[str, list[tuple[object, object, object]]] = {}
    timed = True
    for row in _rows(location):
        timed = "start" in row
        content = (row["start"], row["end"], row["text"]) if timed else (None, None, row["caption"])
        by_video.setdefault(row.required_id("video_id"), []).append(content)
    for video, rows in by_video.items():
        yield video, Narration(tuple(rows), timed=timed, listed=str(location))


def _rows(location: Location) -> Iterator[Row]:
    """The table's rows; a table with only some of the columns of times is taken for neither form."""
    for row in read_table(location, ("video_id", *TIMED), ("video_id", *UNTIMED)):
        if "start" not in row and ("end" in row or "text" in row):
            needed = "video_id, start, end, text, or video_id, caption"
            raise InputError(f"{location} has the columns {', '.join(row)}; it needs {needed}")
        yield row


@dataclass(frozen=True, order=True)
class Segment:
    """A caption and its time span in seconds."""

    start: float
    end: float
    text: str

    def clip_id(self, video_id: str) -> str:
        """The id of the clip of this span."""
        return f"{video_id}:{self.start}-{self.end}"


def usable(rows: Iterable[tuple[object, object, object]], where: str, drops: Drops) -> list[Segment]:
    """The (start, end, text) `rows` that can be used, sorted by start; the others are dropped and counted.

    Dropped are times that are no numbers from 0 on, end ≤ start, captions without a word, and repeated rows.
    """
    segments: dict[Segment, None] = {}
    for start, end, text in rows:
        span = f"{where}, from {start} to {end} s"
        segment = Segment(_seconds(start), _seconds(end), text_of(text, span) or "")
        if math.isnan(segment.start) or math.isnan(segment.end):
            drops.drop(Reason.BAD_TIME, f"{span}: times must be seconds from 0 on")
        elif segment.end <= segment.start:
            drops.drop(Reason.END_BEFORE_START, f"{span}: the end must come after the start")
        elif not tokenise(segment.text):
            drops.drop(Reason.EMPTY_CAPTION, f"{span}: the caption {text!r} holds no word")
        elif segment in segments:
            drops.drop(Reason.DUPLICATE_ID, f"{span}: the same row again")
        else:
            segments[segment] = None
    return sorted(segments)


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
        with_previous = segments[last].end - segments[first - 1].start
        if has_previous and not (has_next and segments[last + 1].end - segments[first].start < with_previous):
            first -= 1
            taken.append(segments[first])
        else:
            last += 1
            taken.append(segments[last])
    return Segment(segments[first].start, segments[last].end, _text(taken))


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
