"""Video files with captions: of a table, of subtitles, or of a published data set's annotations."""

import html
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import webvtt
from webvtt.errors import MalformedCaptionError, MalformedFileError

from vtr_core import storage
from vtr_core.data.sources.files import (
    IDS,
    BadLine,
    Row,
    Subtitle,
    check_id,
    is_elsewhere,
    parse_srt,
    read_table,
    read_text,
    spellings,
)
from vtr_core.data.sources.instructional.narration import Narration, Rows, merge, read_all, read_narrations, usable
from vtr_core.data.sources.pairs import PairRow, PairRows
from vtr_core.data.sources.published_captions import AnnotatedDataSet, read_annotated
from vtr_core.data.sources.source import Drops, VideoEntry, worded_captions
from vtr_core.data.sources.video_files import Inventory, VideoFile, without_suffix
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

SUFFIXES = (".srt", ".vtt")
_BREAK = re.compile(r"\\[Nh]|<br */?>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<[\d:.]+>|\{(?:\\|\w:)[^{}]*\}")
"""Marks of players in a text: <i>, <v Speaker>, <00:01.000>, {\\an8} of SubStation Alpha, {y:i} of MicroDVD."""


def subtitle_rows(inventory: Inventory, drops: Drops) -> Iterator[Row]:
    """A row of every cue of every video, as a caption table has them; ids are <video>/<number of the cue>.

    A video without subtitles, and lines that are none, are dropped and counted.
    """
    for video in inventory.files:
        try:
            place = _beside(video)
            cues = list(_cues(place))
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault))
            continue
        for number, cue in enumerate(cues, start=1):
            if isinstance(cue, BadLine):
                drops.drop(Reason.BAD_LINE, f"{place}, line {cue.line}: {cue.fault}")
            else:
                yield Row(_cells(video, number, cue), f"{place}, line {cue.line}")


def _cells(video: VideoFile, number: int, cue: Subtitle) -> dict[str, object]:
    caption = " ".join(html.unescape(_TAG.sub("", _BREAK.sub(" ", cue.text))).split())
    return {
        "id": f"{video.video_id}/{number:05d}",
        "caption": caption,
        "video": video.name,
        "start": cue.start,
        "end": cue.end,
    }


def _beside(video: VideoFile) -> Location:
    file = locate(video.uri)
    names = [f"{without_suffix(file.name)}{suffix}" for suffix in (*SUFFIXES, *map(str.upper, SUFFIXES))]
    for spelling in (spelling for name in names for spelling in spellings(name)):
        if storage.exists(file.parent / spelling):
            return file.parent / spelling
    raise UnusableError(Reason.MISSING_FILE, f"there is no {' or '.join(SUFFIXES)} file beside {video.uri}")


def _cues(place: Location) -> Iterator[Subtitle | BadLine]:
    content = read_text(place)
    if place.name.lower().endswith(".srt"):
        yield from parse_srt(content)
        return
    try:
        captions = webvtt.from_string(content).captions
    except (MalformedFileError, MalformedCaptionError) as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{place} is no WebVTT file ({error})") from error
    for number, cue in enumerate(captions, start=1):
        times = (cue.start_time.in_milliseconds() / 1000, cue.end_time.in_milliseconds() / 1000)
        yield Subtitle(number, *times, " ".join(cue.raw_text.split()))


SUBTITLES: Literal["subtitles"] = "subtitles"
"""Instead of a table: the .srt and .vtt files beside the videos."""


@dataclass(frozen=True)
class CaptionedVideo:
    """The `VideoEntry.content` of video files: the video's URI, and its clips with their captions.

    The rows are kept as compressed JSON, a tenth of their size, since those of all videos are in memory at once.
    """

    uri: str
    num_rows: int
    packed: bytes
    keep: bool = False
    """Whether the rows are kept where the video is unusable, as in test sets."""

    @classmethod
    def of(cls, uri: str, rows: Iterable[PairRow], keep: bool = False) -> "CaptionedVideo":
        """A video with its rows."""
        values = [vars(row) for row in rows]
        return cls(uri, len(values), zlib.compress(json.dumps(values).encode(), level=1), keep)

    @property
    def rows(self) -> tuple[PairRow, ...]:
        """The clips with their captions; unpacked at each call."""
        rows = json.loads(zlib.decompress(self.packed))
        return tuple(
            PairRow(**{**row, "files": tuple(row["files"]), "metadata": tuple(map(tuple, row["metadata"]))})
            for row in rows
        )


def captioned_videos(
    inventory: Inventory, captions: str, drops: Drops, keep: Sequence[str] = ()
) -> Sequence[VideoEntry]:
    """The videos of `inventory` that have captions, in the order of the table, or by name with subtitles.

    captions: a table with id, caption and video, and optionally start, end, split and video_id (default: the video's
    name without suffix), or "subtitles". keep: columns of the table to keep as text. Rows at fault are dropped and
    counted.
    """
    drop_left_out(inventory, drops)
    rows = PairRows(("video",), keep, anywhere=inventory.anywhere)
    videos: dict[str, tuple[VideoFile, list[PairRow]]] = {}
    if captions == SUBTITLES:
        raw = subtitle_rows(inventory, drops)
    else:
        raw = read_table(locate(captions), ("id", "caption", "video", *keep))
    for row in raw:
        try:
            file, pair = _pair(inventory, rows, row)
            if videos.setdefault(pair.video_id, (file, []))[0] != file:
                raise UnusableError(Reason.DUPLICATE_ID, f"{pair.video_id} is the id of another video file already")
        except UnusableError as fault:
            drops.drop(fault.reason, f"{row.where}: {fault}")
        else:
            videos[pair.video_id][1].append(pair)
    return [
        VideoEntry(video, CaptionedVideo.of(file.uri, pairs), pairs[0].split) for video, (file, pairs) in videos.items()
    ]


def drop_left_out(inventory: Inventory, drops: Drops) -> None:
    """Count the names that no video can have, and the folders that may not be read."""
    for fault in inventory.left_out:
        drops.drop(fault.reason, str(fault))


def _pair(inventory: Inventory, rows: PairRows, row: Row) -> tuple[VideoFile, PairRow]:
    name = row.text("video", *IDS)
    if name is None:
        raise UnusableError(Reason.NO_FEATURES, f"{row.get('id')} names no video")
    file = inventory.find(name)
    video, own_id = (name, name) if is_elsewhere(name) else (file.name, file.video_id)
    video_id = row.text("video_id", *IDS) or own_id
    return file, rows.read(Row({**row, "video": video, "video_id": video_id}, row.where))


Narrated = Literal["youcook2", "howto100m"]
DATA_SETS: tuple[AnnotatedDataSet | Narrated, ...] = (*get_args(AnnotatedDataSet), *get_args(Narrated))
MIN_TIME_S = 8.0
"""Minimum duration of a clip of HowTo100M in seconds."""


def annotated_videos(
    inventory: Inventory, name: AnnotatedDataSet | Narrated, annotations: str, drops: Drops
) -> Sequence[VideoEntry]:
    """The annotated videos of a data set; videos are found by their ids, `VideoEntry.content` is a CaptionedVideo.

    Of test sets (the split test, YouCook2's clips) rows stay though their video cannot be used, so that the number of
    queries is fixed; where no video of such a set is there, it is left out. Rows at fault are dropped.
    """
    drop_left_out(inventory, drops)
    if name == "youcook2" or name == "howto100m":
        listed = _narrated(inventory, name, annotations, drops)
    else:
        listed = _annotated(inventory, name, annotations, drops)
    entries: list[VideoEntry] = []
    for entry in listed:
        try:
            check_id(entry.video_id)
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault), max(1, entry.content.num_rows))
        else:
            entries += [entry] if entry.content.num_rows else []
    has_tests = any(entry.content.keep and entry.content.uri in inventory.uris for entry in entries)
    return [entry for entry in entries if has_tests or not entry.content.keep]


def _annotated(inventory: Inventory, name: AnnotatedDataSet, annotations: str, drops: Drops) -> Iterator[VideoEntry]:
    """The videos of published captions, those of which several files may be meant counted."""
    for video in read_annotated(name, annotations, drops):
        own = video.video_id
        worded = worded_captions(video.captions, f"{annotations}, {own}", drops)
        rows = [PairRow(own, own, video.split, None, video.end, caption, (own,)) for _, caption in worded]
        uri = _uri(inventory, video.name_among(inventory) or own, drops)
        if uri is not None:
            yield VideoEntry(own, CaptionedVideo.of(uri, rows, video.split == "test"), video.split)


def _narrated(inventory: Inventory, name: Narrated, annotations: str, drops: Drops) -> Iterator[VideoEntry]:
    """The narrated videos; of HowTo100M those that are there, whose narrations alone are read, together."""
    is_test, listed = name == "youcook2", []
    for video_id, narration in read_narrations(annotations):
        if is_test or video_id in inventory:
            listed.append((video_id, narration))
        else:
            drops.drop(Reason.MISSING_FILE, f"there is no video {video_id[:80]!r} in {inventory.place}")
    read = read_all(narration for _, narration in listed)
    for (video_id, narration), captions in zip(listed, read, strict=True):
        rows = list(_clips(video_id, narration, captions, 0.0 if is_test else MIN_TIME_S, drops))
        uri = _uri(inventory, video_id, drops)
        if uri is not None:
            yield VideoEntry(video_id, CaptionedVideo.of(uri, rows, is_test), "test" if is_test else None)


def _uri(inventory: Inventory, video_id: str, drops: Drops) -> str | None:
    """The URI of a video; None, counted, where several files may be meant."""
    try:
        return inventory.by_id(video_id)
    except UnusableError as fault:
        drops.drop(fault.reason, str(fault))
        return None


def _clips(video_id: str, narration: Narration, captions: Rows, min_time: float, drops: Drops) -> Iterator[PairRow]:
    where = f"{narration.where}, {video_id}"
    if not narration.timed:
        for _, text in worded_captions((text for _, _, text in captions), where, drops):
            yield PairRow(video_id, video_id, None, None, None, text, (video_id,))
        return
    segments = usable(captions, where, drops)
    for segment in merge(segments, min_time) if min_time else segments:
        yield PairRow(
            segment.clip_id(video_id), video_id, None, segment.start, segment.end, segment.text.strip(), (video_id,)
        )
