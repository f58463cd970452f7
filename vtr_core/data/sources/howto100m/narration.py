"""The caption files of narrated videos: the videos, and the raw (start, end, text) rows of each.

Only the format of the file is checked here; the content of rows is checked on use.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.data.sources.files.json_members import Member, members, read_values
from vtr_core.data.sources.files.tables import read_table
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

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
    for (file, together), found in groupby(narrations, lambda one: (one.file, one.member is not None)):
        if file is not None and together:
            wanted = [one.member for one in found if one.member is not None]
            for member, value in zip(wanted, read_values(file, wanted), strict=True):
                yield _rows_of(file, member.name, value)
        elif file is not None:
            for _ in found:
                yield [(row["start"], row["end"], row["text"]) for row in read_table(file, TIMED)]
        else:
            yield from (one.rows for one in found)


def read_narrations(uri: str) -> Iterator[tuple[str, Narration]]:
    """Every video of a caption file or folder with its narration, in the order of the file, each video once.

    A CSV has the columns video_id, start, end, text, or video_id, caption for captions of whole videos. The HowTo100M
    JSON is {video: {"start": [...], "end": [...], "text": [...]}}. A folder holds one CSV per video with start, end,
    text. What a video of a JSON or folder holds is read later. Raises InputError for anything else.
    """
    location = locate(uri)
    match location.filesystem.get_file_info(location.path).type:
        case pafs.FileType.NotFound:
            raise InputError(f"there is no captions file or folder {location}")
        case pafs.FileType.Directory:
            yield from _from_folder(location)
        case _ if location.name.lower().endswith(".json"):
            yield from dict(_from_json(location)).items()
        case _:
            yield from _from_table(location)


def video_ids(uri: str) -> Iterator[str]:
    """The video ids of a caption file or folder, possibly repeated, read lazily."""
    location = locate(uri)
    if location.filesystem.get_file_info(location.path).type == pafs.FileType.Directory:
        yield from (video for video, _ in _from_folder(location))
    elif location.name.lower().endswith(".json"):
        yield from (video for video, _ in _from_json(location))
    else:
        yield from (str(row["video_id"]) for row in _rows(location))


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
