"""Lists of video files from a folder, glob, list or table, and lookup by the name in a table."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from vtr_core.data.sources.files import (
    FORMATS,
    IDS,
    check_label,
    check_path,
    filled_lines,
    is_elsewhere,
    is_folder,
    read_table,
    spellings,
)
from vtr_core.errors import InputError
from vtr_core.storage import Location, StorageError, files_below, is_text, is_uri, local_path, locate, shown_name
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
        file = self._listed_as(name)
        if file is not None:
            return file
        if self._folder is None:
            raise UnusableError(Reason.UNKNOWN_VIDEO, f"the video {name!r} is not among those of {self.place}")
        return self._below(self._folder, name)

    def __contains__(self, name: object) -> bool:
        """Whether a video may be meant by this name."""
        return any(spelling in names for names in self._names for spelling in spellings(str(name)))

    def by_id(self, video_id: str) -> str:
        """The URI of the video whose name without suffix is `video_id`; where it would be if it is not listed.

        UnusableError where several are called so.
        """
        file = self._listed_as(video_id)
        if file is not None:
            return file.uri
        return f"{self.place}/{video_id}" if self._folder is None else (self._folder / video_id).uri

    @property
    def files(self) -> tuple[VideoFile, ...]:
        """All videos, by name; InputError where there are none."""
        if not self._listing[0]:
            why = (
                f": {self.left_out[0]}"
                if self.left_out
                else "; give a folder, a glob, a list (.txt) or a table of videos"
            )
            raise InputError(f"{self.place} gives no video{why}")
        return self._listing[0]

    @property
    def left_out(self) -> tuple[UnusableError, ...]:
        """Names that are not UTF-8, folders that may not be read, and links that lead out, unless with `anywhere`."""
        return self._listing[1]

    @cached_property
    def uris(self) -> frozenset[str]:
        """The URIs of all videos."""
        return frozenset(file.uri for file in self._listing[0])

    @cached_property
    def _listing(self) -> tuple[tuple[VideoFile, ...], tuple[UnusableError, ...]]:
        """The videos by name, and what is left out."""
        left_out: list[UnusableError] = []
        files = sorted(self._listed(left_out), key=lambda file: file.name)
        return tuple(files), tuple(left_out)

    def _elsewhere(self, name: str) -> VideoFile:
        if not self.anywhere:
            message = (
                f"the video {name[:80]!r} lies outside {self.place}; say --anywhere to allow paths and URIs like it"
            )
            raise UnusableError(Reason.UNSAFE_ID, message)
        check_label(name)
        try:
            path = name.partition("?")[0] if is_uri(name) else local_path(name)
        except StorageError as error:
            raise UnusableError(Reason.UNSAFE_ID, str(error)) from error
        return VideoFile(PurePosixPath(path).name, name)

    def _below(self, folder: Location, name: str) -> VideoFile:
        """A file of a folder; UnusableError where it is a link that leads out, which only `anywhere` allows."""
        if not self.anywhere and (folder / name).leads_out:
            message = f"the video {name[:80]!r} is a link that leads out of {folder}; say --anywhere to follow it"
            raise UnusableError(Reason.UNSAFE_ID, message)
        return VideoFile(name, (folder / name).uri)

    @cached_property
    def _pattern(self) -> str | None:
        """The place as a pattern of local paths; None for what is there, whatever its name, and for URIs."""
        if is_uri(self.place) or not any(mark in self.place for mark in _GLOB):
            return None
        path = local_path(self.place)
        return None if os.path.lexists(path) else path

    @cached_property
    def _folder(self) -> Location | None:
        """The folder that names are relative to; None for lists, whose names are those in them."""
        if self._pattern is not None:
            return None
        location = locate(self.place)
        is_list = location.name.lower().endswith((".txt", *FORMATS))
        return None if is_list and not (location.is_local and is_folder(location)) else location

    def _listed_as(self, name: str) -> VideoFile | None:
        """The video of a name, of the exact ones first; UnusableError where it fits several alike, None for none."""
        for names in self._names:
            for spelling in spellings(name):
                files = names.get(spelling, [])
                if len(files) > 1:
                    fitting = " and ".join(file.name for file in files[:2])
                    raise UnusableError(
                        Reason.DUPLICATE_ID, f"the video {name!r} may be {fitting}; give the whole name"
                    )
                if files:
                    return files[0]
        return None

    @cached_property
    def _names(self) -> tuple[dict[str, list[VideoFile]], ...]:
        """The files by what they may be called: path, path without suffix, file name, and that without suffix."""
        tables: tuple[dict[str, list[VideoFile]], ...] = ({}, {}, {}, {})
        for file in self._listing[0]:
            last = PurePosixPath(file.name).name
            for table, key in zip(
                tables, (file.name, without_suffix(file.name), last, without_suffix(last)), strict=True
            ):
                table.setdefault(key, []).append(file)
        return tables

    def _listed(self, left_out: list[UnusableError]) -> Iterator[VideoFile]:
        if self._pattern is not None:
            yield from self._in_glob(PurePosixPath(self._pattern), left_out)
        elif self._folder is not None:
            for name in _in_folder(self._folder, left_out):
                try:
                    yield self._below(self._folder, name)
                except UnusableError as fault:
                    left_out.append(fault)
        else:
            yield from self._in_list(locate(self.place))

    def _in_glob(self, pattern: PurePosixPath, left_out: list[UnusableError]) -> Iterator[VideoFile]:
        """The files of a glob; names of an absolute one are relative to its last folder that is there as it is called.

        So the brackets of `films [HD]/*.mp4` belong to the name of the folder, where there is one.
        """
        parts, first = pattern.parts, 0
        while first + 1 < len(parts) and os.path.isdir(PurePosixPath(*parts[: first + 1])):
            first += 1
        folder = PurePosixPath(*parts[:first])
        for name in glob.glob(str(PurePosixPath(*parts[first:])), root_dir=folder, recursive=True):
            path = str(folder / name)
            if os.path.isdir(path):
                continue
            try:
                if not is_text(path):
                    raise UnusableError(Reason.UNREADABLE_FILE, f"{shown_name(path)}: the name is not UTF-8; rename it")
                self._below(locate(folder), name)
                yield VideoFile(name if folder.is_absolute() else path, path)
            except UnusableError as fault:
                left_out.append(fault)

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


def without_suffix(name: str) -> str:
    """The path without the suffix of its last part."""
    path = PurePosixPath(name)
    return str(path.with_suffix("")) if path.suffix and path.stem else name


def _names(listing: Location) -> Sequence[str]:
    if listing.name.lower().endswith(FORMATS):
        return [name for row in read_table(listing, ("video",)) if (name := row.text("video", *IDS))]
    return filled_lines(listing)


def _in_folder(folder: Location, left_out: list[UnusableError]) -> Iterator[str]:
    """The names of files below a folder that end as those of videos do; InputError where it is no folder."""
    if not is_folder(folder):
        raise InputError(f"{folder} is no folder; give a folder, a glob, a list (.txt) or a table of videos")
    names = files_below(folder, lambda fault: left_out.append(UnusableError(Reason.UNREADABLE_FILE, fault)))
    return (name for name in names if name.lower().endswith(SUFFIXES))
