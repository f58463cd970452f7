"""Lists of video files from a folder, glob, list or table, and lookup by the name in a table."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import pyarrow.fs as pafs

from vtr_core.data.sources.files import (
    FORMATS,
    IDS,
    check_label,
    check_path,
    filled_lines,
    is_elsewhere,
    is_folder,
    read_table,
)
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

SUFFIXES = (
    *(".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".ogv", ".3gp", ".gif"),
)
"""File name suffixes of videos in a folder; tables, lists and globs may name any file."""
_GLOB = "*?["


@dataclass(frozen=True)
class VideoFile:
    """A video: its name, the path below the folder that it was found in, and the URI that it is read from."""

    name: str
    uri: str

    @property
    def video_id(self) -> str:
        """The name without its suffix."""
        return without_suffix(self.name)


@dataclass(frozen=True)
class Inventory:
    """The videos that `place` gives: a folder or URI, a glob, a list of paths (.txt), or a table with `video`.

    Paths in lists and tables are relative to their folder; with `anywhere` they may be absolute, or URIs.
    """

    place: str
    anywhere: bool = False

    def find(self, name: str) -> VideoFile:
        """The video that a caption table calls `name`: a path, a file name, or either without its suffix.

        A path that is not listed below a folder is taken as it is; whether it is there, its reading shows.
        Raises UnusableError where it leads out of the folder, or is not in the list.
        """
        if is_elsewhere(name):
            return self._elsewhere(name)
        check_path(name)
        file = self._by_key.get(name)
        if file is not None:
            return file
        if self._folder is None:
            raise UnusableError(Reason.UNKNOWN_VIDEO, f"the video {name!r} is not among those of {self.place}")
        return self._below(self._folder, name)

    def __contains__(self, name: object) -> bool:
        """Whether a video of this name is listed."""
        return name in self._by_key

    def by_id(self, video_id: str) -> str:
        """The URI of the video whose name without suffix is `video_id`; where it would be if it is not listed."""
        file = self._by_key.get(video_id)
        if file is not None:
            return file.uri
        return f"{self.place}/{video_id}" if self._folder is None else (self._folder / video_id).uri

    @property
    def files(self) -> tuple[VideoFile, ...]:
        """All videos, by name; InputError where there are none."""
        if not self._sorted:
            raise InputError(f"{self.place} gives no video; give a folder, a glob, a list (.txt) or a table of videos")
        return self._sorted

    @cached_property
    def uris(self) -> frozenset[str]:
        """The URIs of all videos."""
        return frozenset(file.uri for file in self._sorted)

    @cached_property
    def _sorted(self) -> tuple[VideoFile, ...]:
        return tuple(sorted(self._listed(), key=lambda file: file.name))

    def _elsewhere(self, name: str) -> VideoFile:
        if not self.anywhere:
            message = (
                f"the video {name[:80]!r} lies outside {self.place}; say --anywhere to allow paths and URIs like it"
            )
            raise UnusableError(Reason.UNSAFE_ID, message)
        check_label(name)
        return VideoFile(PurePosixPath(name.partition("?")[0]).name, name)

    def _below(self, folder: Location, name: str) -> VideoFile:
        """A file of a folder; UnusableError where it is a link that leads out, which only `anywhere` allows."""
        if not self.anywhere and (folder / name).leads_out:
            message = f"the video {name[:80]!r} is a link that leads out of {folder}; say --anywhere to follow it"
            raise UnusableError(Reason.UNSAFE_ID, message)
        return VideoFile(name, (folder / name).uri)

    @cached_property
    def _folder(self) -> Location | None:
        """The folder that names are relative to; None for lists, whose names are those in them."""
        path = self.place.partition("?")[0] if "://" in self.place else self.place  # a URI without its store's settings
        if _is_glob(self.place) or path.endswith((".txt", *FORMATS)):
            return None
        return locate(self.place)

    @cached_property
    def _by_key(self) -> dict[str, VideoFile]:
        """Every file by its name, its last part, and both without suffixes; what would be ambiguous is left out."""
        keys: dict[str, set[VideoFile]] = {}
        for file in self._sorted:
            last = PurePosixPath(file.name).name
            for key in {file.name, last, without_suffix(file.name), without_suffix(last)}:
                keys.setdefault(key, set()).add(file)
        exact = {file.name: file for file in self._sorted}
        return {**{key: next(iter(files)) for key, files in keys.items() if len(files) == 1}, **exact}

    def _listed(self) -> Iterator[VideoFile]:
        try:
            if self._folder is not None:
                yield from (self._below(self._folder, name) for name in _in_folder(self._folder))
            elif _is_glob(self.place):
                yield from self._in_glob()
            else:
                yield from self._in_list(locate(self.place))
        except UnusableError as fault:
            raise InputError(str(fault)) from fault

    def _in_glob(self) -> Iterator[VideoFile]:
        """The files of a glob; names of an absolute one are relative to its last folder without a wildcard."""
        parts = PurePosixPath(self.place).parts
        first = next(number for number, part in enumerate(parts) if any(mark in part for mark in _GLOB))
        folder = PurePosixPath(*parts[:first])
        for path in glob.glob(self.place, recursive=True):
            name = str(PurePosixPath(path).relative_to(folder))
            self._below(locate(folder), name)
            yield VideoFile(name if folder.is_absolute() else path, path)

    def _in_list(self, listing: Location) -> Iterator[VideoFile]:
        for name in dict.fromkeys(_names(listing)):
            try:
                if is_elsewhere(name):
                    yield self._elsewhere(name)
                else:
                    check_path(name)
                    yield self._below(listing.parent, name)
            except UnusableError as fault:
                raise InputError(f"{listing}: {fault}") from fault


def _is_glob(place: str) -> bool:
    """Whether `place` is a pattern of local paths; in a URI the marks belong to names and settings."""
    return "://" not in place and any(mark in place for mark in _GLOB)


def without_suffix(name: str) -> str:
    """The path without the suffix of its last part."""
    path = PurePosixPath(name)
    return str(path.with_suffix("")) if path.suffix and path.stem else name


def _names(listing: Location) -> Sequence[str]:
    if listing.name.endswith(FORMATS):
        return [name for row in read_table(listing, ("video",)) if (name := row.text("video", *IDS))]
    return filled_lines(listing)


def _in_folder(folder: Location) -> Iterator[str]:
    """The names of files below a folder that end as those of videos do; InputError where it is no folder."""
    if not is_folder(folder):
        raise InputError(f"{folder} is no folder; give a folder, a glob, a list (.txt) or a table of videos")
    for info in folder.filesystem.get_file_info(pafs.FileSelector(folder.path, recursive=True)):
        if info.type == pafs.FileType.File and info.path.lower().endswith(SUFFIXES):
            yield info.path.removeprefix(folder.path.rstrip("/") + "/")
