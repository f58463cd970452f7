"""Subtitles beside video files: every cue is a clip with its times, and its text is the caption."""

import html
import re
from collections.abc import Iterator

import webvtt
from webvtt.errors import MalformedCaptionError, MalformedFileError

from vtr_core import storage
from vtr_core.data.sources.files.annotation_text import read_text
from vtr_core.data.sources.files.srt import BadLine, Subtitle, parse_srt
from vtr_core.data.sources.files.tables import Row
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.videos.inventory import Inventory, VideoFile, without_suffix
from vtr_core.storage import Location, locate

SUFFIXES = (".srt", ".vtt")
_TAG = re.compile(r"<[^>]*>")


def subtitle_rows(inventory: Inventory, drops: Drops) -> Iterator[tuple[str, Row]]:
    """(where, row) of every cue of every video, as a caption table has them; ids are <video>/<number of the cue>.

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
                drops.drop(Reason.BAD_LINE, f"{place}, line {cue.line}: {cue.what}")
            else:
                yield f"{place}, line {cue.line}", _row(video, number, cue)


def _row(video: VideoFile, number: int, cue: Subtitle) -> Row:
    caption = " ".join(html.unescape(_TAG.sub("", cue.text)).split())
    return {
        "id": f"{video.video_id}/{number:05d}",
        "caption": caption,
        "video": video.name,
        "start": cue.start,
        "end": cue.end,
    }


def _beside(video: VideoFile) -> Location:
    file = locate(video.uri)
    for suffix in SUFFIXES:
        place = file.parent / f"{without_suffix(file.name)}{suffix}"
        if storage.exists(place):
            return place
    raise UnusableError(Reason.MISSING_FILE, f"there is no {' or '.join(SUFFIXES)} file beside {video.uri}")


def _cues(place: Location) -> Iterator[Subtitle | BadLine]:
    content = read_text(place)
    if place.name.endswith(".srt"):
        yield from parse_srt(content)
        return
    try:
        captions = webvtt.from_string(content).captions
    except (MalformedFileError, MalformedCaptionError) as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{place} is no WebVTT file ({error})") from error
    for number, cue in enumerate(captions, start=1):
        times = (cue.start_time.in_milliseconds() / 1000, cue.end_time.in_milliseconds() / 1000)
        yield Subtitle(number, *times, " ".join(cue.text.split()))
