"""A table of captions: video ids, captions, and optionally splits."""

from vtr_core.data.sources.files import Row, read_table
from vtr_core.data.sources.reasons import Reason, UnusableError, check_id
from vtr_core.data.sources.source import AnnotatedVideo, Drops
from vtr_core.storage import locate


def read_captions(uri: str, drops: Drops) -> list[AnnotatedVideo]:
    """The videos of the table at `uri`, a row for each caption: columns id and caption, optionally split.

    Rows of one id are the captions of one video, in their order, repeated ones too, since vectors belong to captions by
    position. Durations, which the table lacks, are 0. Rows of an id that cannot name a file, or of a video that is in
    another split already, are dropped and counted. InputError for a missing or damaged table.
    """
    videos: dict[str, list[str]] = {}
    splits: dict[str, str | None] = {}
    for number, row in enumerate(read_table(locate(uri), ("id", "caption")), start=1):
        try:
            video, split = _checked(row)
            if splits.setdefault(video, split) != split:
                raise UnusableError(
                    Reason.SPLIT_CONFLICT, f"{video} is in the split {splits[video]} already, and cannot be in {split}"
                )
        except UnusableError as fault:
            drops.drop(fault.reason, f"{uri}, row {number}: {fault}")
        else:
            videos.setdefault(video, []).append("" if row["caption"] is None else str(row["caption"]).strip())
    return [AnnotatedVideo(video, splits[video], 0.0, tuple(captions)) for video, captions in videos.items()]


def _checked(row: Row) -> tuple[str, str | None]:
    """The row's id and split, both fit to be file names."""
    video = "" if row["id"] is None else str(row["id"]).strip()
    split = str(row.get("split") or "").strip() or None
    check_id(video)
    if split is not None:
        check_id(split)
    return video, split
