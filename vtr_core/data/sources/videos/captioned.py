"""Video files with captions: the rows of a table, or the cues of subtitles, by video."""

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vtr_core.data.sources.files.tables import Row, read_table
from vtr_core.data.sources.names import is_elsewhere
from vtr_core.data.sources.pairs.rows import PairRow, PairRows
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.data.sources.videos.inventory import Inventory, VideoFile
from vtr_core.data.sources.videos.subtitles import subtitle_rows
from vtr_core.storage import locate

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
        return tuple(map(_row, json.loads(zlib.decompress(self.packed))))


def _row(value: dict[str, Any]) -> PairRow:
    metadata = tuple((name, text) for name, text in value["metadata"])
    return PairRow(**{**value, "files": tuple(value["files"]), "metadata": metadata})


def captioned_videos(
    inventory: Inventory, captions: str, drops: Drops, keep: Sequence[str] = ()
) -> Sequence[VideoEntry]:
    """The videos of `inventory` that have captions, in the order of the table, or by name with subtitles.

    captions: a table with id, caption and video, and optionally start, end, split and video_id (default: the video's
    name without suffix), or "subtitles". keep: columns of the table to keep as text. Rows at fault are dropped and
    counted.
    """
    rows = PairRows(("video",), keep, anywhere=inventory.anywhere)
    videos: dict[str, tuple[VideoFile, list[PairRow]]] = {}
    raw = subtitle_rows(inventory, drops) if captions == SUBTITLES else _table_rows(captions, keep)
    for where, row in raw:
        try:
            file, pair = _pair(inventory, rows, row)
            if videos.setdefault(pair.video_id, (file, []))[0] != file:
                raise UnusableError(Reason.DUPLICATE_ID, f"{pair.video_id} is the id of another video file already")
        except UnusableError as fault:
            drops.drop(fault.reason, f"{where}: {fault}")
        else:
            videos[pair.video_id][1].append(pair)
    return [
        VideoEntry(video, CaptionedVideo.of(file.uri, pairs), pairs[0].split) for video, (file, pairs) in videos.items()
    ]


def _table_rows(table: str, keep: Sequence[str]) -> Sequence[tuple[str, Row]]:
    rows = read_table(locate(table), ("id", "caption", "video", *keep))
    return [(f"{table}, row {number}", row) for number, row in enumerate(rows, start=1)]


def _pair(inventory: Inventory, rows: PairRows, row: Row) -> tuple[VideoFile, PairRow]:
    name = str(row.get("video") or "").strip()
    if not name:
        raise UnusableError(Reason.NO_FEATURES, f"{row.get('id')} names no video")
    file = inventory.find(name)
    video_id = row.get("video_id") or (name if is_elsewhere(name) else file.video_id)
    return file, rows.read({**row, "video": name, "video_id": video_id})
