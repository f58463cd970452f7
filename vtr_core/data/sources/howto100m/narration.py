"""The caption files of narrated videos: which videos there are, and the raw (start, end, text) rows of each.

Nothing is checked here beyond the form of the file; what a row holds is checked where it is used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.data.sources.files.tables import read_table
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

TIMED = ("start", "end", "text")
UNTIMED = ("caption",)
_SUFFIX = ".csv"


@dataclass(frozen=True)
class Narration:
    """One video's rows: given at once, or in a file of their own that is read where they are needed."""

    rows: tuple[tuple[object, object, object], ...] = ()
    file: Location | None = None
    timed: bool = True
    listed: str = ""
    """The file that the rows are from, for messages."""

    @property
    def where(self) -> str:
        """The file that has the rows, for messages."""
        return self.listed if self.file is None else str(self.file)

    def read(self) -> Sequence[tuple[object, object, object]]:
        """The rows; start and end are None where captions have no times."""
        if self.file is None:
            return self.rows
        return [(row["start"], row["end"], row["text"]) for row in read_table(self.file, TIMED)]


def read_narrations(uri: str) -> Iterator[tuple[str, Narration]]:
    """Every video of a caption file or folder with its narration, in the order of the file, each video once.

    A CSV has the columns video_id, start, end, text, or video_id, caption for captions of whole videos. The HowTo100M
    JSON is {video: {"start": [...], "end": [...], "text": [...]}}. A folder holds one CSV per video with start, end,
    text. Raises InputError for anything else.
    """
    location = locate(uri)
    match location.filesystem.get_file_info(location.path).type:
        case pafs.FileType.NotFound:
            raise InputError(f"there is no captions file or folder {location}")
        case pafs.FileType.Directory:
            yield from _from_folder(location)
        case _ if location.name.lower().endswith(".json"):
            yield from _from_json(location)
        case _:
            yield from _from_table(location)


def video_ids(uri: str) -> Iterator[str]:
    """The video ids of a caption file or folder, possibly repeated, read lazily."""
    location = locate(uri)
    whole = location.filesystem.get_file_info(location.path).type == pafs.FileType.Directory
    if whole or location.name.lower().endswith(".json"):
        yield from (video for video, _ in read_narrations(uri))
    else:
        yield from (str(row["video_id"]) for row in _rows(location))


def _from_folder(folder: Location) -> Iterator[tuple[str, Narration]]:
    files = [child for child in storage.children(folder) if child.name.endswith(_SUFFIX)]
    if not files:
        raise InputError(f"{folder} holds no captions; a folder must hold one <video id>.csv per video")
    for file in files:
        yield file.name.removesuffix(_SUFFIX), Narration(file=file)


def _from_json(location: Location) -> Iterator[tuple[str, Narration]]:
    form = '{video: {"start": [...], "end": [...], "text": [...]}} with lists of equal length'
    content = storage.read_json(location)
    if not isinstance(content, dict):
        raise InputError(f"{location} must be {form}")
    for video, value in content.items():
        lists = [value.get(key) if isinstance(value, dict) else None for key in TIMED]
        if not all(isinstance(part, list) for part in lists) or len({len(part or ()) for part in lists}) != 1:
            raise InputError(f"{location}, video {video}: it must be {form}")
        yield video, Narration(tuple(zip(*[part or [] for part in lists], strict=True)), listed=str(location))


def _from_table(location: Location) -> Iterator[tuple[str, Narration]]:
    found: dict[str, list[tuple[object, object, object]]] = {}
    timed = True
    for row in _rows(location):
        timed = "start" in row
        content = (row["start"], row["end"], row["text"]) if timed else (None, None, row["caption"])
        found.setdefault(str(row["video_id"]), []).append(content)
    for video, rows in found.items():
        yield video, Narration(tuple(rows), timed=timed, listed=str(location))


def _rows(location: Location) -> Iterator[dict[str, object]]:
    """The table's rows; a table with only some of the columns of times is taken for neither form."""
    for row in read_table(location, ("video_id", *TIMED), ("video_id", *UNTIMED)):
        if "start" not in row and ("end" in row or "text" in row):
            wanted = "video_id, start, end, text, or video_id, caption"
            raise InputError(f"{location} has the columns {', '.join(row)}; it needs {wanted}")
        yield row
