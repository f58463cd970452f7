"""Video files with the published annotations of a data set: clips, captions and splits."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from vtr_core.data.sources.annotated.data_sets import AnnotatedDataSet, read_annotated
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.howto100m.narration import Narration, Rows, read_all, read_narrations
from vtr_core.data.sources.howto100m.segments import merge, usable
from vtr_core.data.sources.kept import TEST
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.pairs.rows import PairRow
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.data.sources.videos.captioned import CaptionedVideo
from vtr_core.data.sources.videos.inventory import Inventory
from vtr_core.data.sources.worded_captions import worded_captions

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
    entries = list(_usable_ids(_entries(inventory, name, annotations, drops), drops))
    has_tests = any(entry.content.keep and entry.content.uri in inventory.uris for entry in entries)
    return [entry for entry in entries if has_tests or not entry.content.keep]


def _entries(
    inventory: Inventory, name: AnnotatedDataSet | Narrated, annotations: str, drops: Drops
) -> Iterator[VideoEntry]:
    match name:
        case "youcook2" | "howto100m":
            yield from _narrated(inventory, name, annotations, drops)
        case _:
            for video in read_annotated(name, annotations, drops):
                rows = _captions(video, f"{annotations}, {video.video_id}", drops)
                uri = inventory.by_id(video.name_among(inventory) or video.video_id)
                yield VideoEntry(video.video_id, CaptionedVideo.of(uri, rows, video.split == TEST), video.split)


def _usable_ids(entries: Iterator[VideoEntry], drops: Drops) -> Iterator[VideoEntry]:
    for entry in entries:
        try:
            check_id(entry.video_id)
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault), max(1, entry.content.num_rows))
        else:
            if entry.content.num_rows:
                yield entry


def _captions(video: AnnotatedVideo, where: str, drops: Drops) -> Iterator[PairRow]:
    for _, caption in worded_captions(video.captions, where, drops):
        yield PairRow(video.video_id, video.video_id, video.split, None, video.end, caption, (video.video_id,))


def _narrated(inventory: Inventory, name: Narrated, annotations: str, drops: Drops) -> Iterator[VideoEntry]:
    """The narrated videos; of HowTo100M those that are there, whose narrations alone are read, together."""
    is_test = name == "youcook2"
    listed = [one for one in read_narrations(annotations) if is_test or _is_there(inventory, one[0], drops)]
    read = read_all(narration for _, narration in listed)
    for (video_id, narration), captions in zip(listed, read, strict=True):
        rows = _clips(video_id, narration, captions, 0.0 if is_test else MIN_TIME_S, drops)
        content = CaptionedVideo.of(inventory.by_id(video_id), rows, is_test)
        yield VideoEntry(video_id, content, TEST if is_test else None)


def _is_there(inventory: Inventory, video_id: str, drops: Drops) -> bool:
    """Whether a video is listed; others are counted."""
    if video_id in inventory:
        return True
    drops.drop(Reason.MISSING_FILE, f"there is no video {video_id[:80]!r} in {inventory.place}")
    return False


def _clips(video_id: str, narration: Narration, captions: Rows, min_time: float, drops: Drops) -> Iterator[PairRow]:
    where = f"{narration.where}, {video_id}"
    if not narration.timed:
        for _, text in worded_captions((text for _, _, text in captions), where, drops):
            yield PairRow(video_id, video_id, None, None, None, text, (video_id,))
        return
    segments = usable(captions, where, drops)
    for segment in merge(segments, min_time) if min_time else segments:
        clip_id = f"{video_id}:{segment.start}-{segment.end}"
        yield PairRow(clip_id, video_id, None, segment.start, segment.end, segment.text.strip(), (video_id,))
