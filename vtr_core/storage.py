"""URIs to files: one way to read, write and publish bytes on a local disk or an object store."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from vtr_core.errors import VtrError


class StorageError(VtrError):
    """A location cannot be read or written."""


@dataclass(frozen=True)
class Location:
    """A file or folder: its URI as shown to people, and what pyarrow needs to reach it."""

    uri: str
    filesystem: pafs.FileSystem
    path: str

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "Location":
        return Location(f"{self.uri.rstrip('/')}/{name}", self.filesystem, f"{self.path.rstrip('/')}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether this is a path of this machine's file system."""
        return isinstance(self.filesystem, pafs.LocalFileSystem)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]


def locate(uri: str | os.PathLike[str]) -> Location:
    """The location of a URI (`s3://bucket/key`, `file:///x`) or of a local path, absolute or relative."""
    text = os.fspath(uri)
    if "://" not in text:
        path = str(Path(text).expanduser().absolute())
        return Location(path, pafs.LocalFileSystem(), path)
    try:
        filesystem, path = pafs.FileSystem.from_uri(text)
    except (pa.ArrowInvalid, OSError) as error:
        known = "a local path, file://, s3:// or gs://"
        raise StorageError(f"cannot use {text} (scheme {urlsplit(text).scheme!r}): {error}; give {known}") from error
    return Location(text, filesystem, path)


def exists(location: Location) -> bool:
    """Whether a file or a non-empty folder is there."""
    return location.filesystem.get_file_info(location.path).type != pafs.FileType.NotFound


def read_bytes(location: Location) -> bytes:
    """The whole file; FileNotFoundError where there is none."""
    with location.filesystem.open_input_stream(location.path) as stream:
        return cast(bytes, stream.read())


def read_json(location: Location) -> Any:
    """The file as JSON; a StorageError names a file that is damaged."""
    try:
        return json.loads(read_bytes(location))
    except ValueError as error:
        raise StorageError(f"{location} is not valid JSON ({error}); restore it or write it anew") from error


def write_bytes(location: Location, content: bytes) -> None:
    """Write a file that is either there whole or not at all."""
    with open_for_writing(location) as sink:
        sink.write(content)


def write_json(location: Location, value: Any) -> None:
    """Write `value` as indented JSON, whole or not at all."""
    write_bytes(location, (json.dumps(value, indent=1) + "\n").encode())


class open_for_writing:  # noqa: N801  (used like open)
    """A context that gives a binary sink and publishes the file at its end; after an exception nothing is published.

    A local file is written beside its place, flushed to disk and renamed; an object store publishes on close by itself.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._temporary = f"{location.path}.part-{os.getpid()}" if location.is_local else None

    def __enter__(self) -> BinaryIO:
        if self._temporary is None:
            self._sink = self._location.filesystem.open_output_stream(self._location.path)
        else:
            Path(self._temporary).parent.mkdir(parents=True, exist_ok=True)
            self._sink = open(self._temporary, "wb")
        return cast(BinaryIO, self._sink)

    def __exit__(self, kind: object, *_: object) -> None:
        if self._temporary is None:
            self._close_object(failed=kind is not None)
        else:
            self._close_local(failed=kind is not None)

    def _close_object(self, failed: bool) -> None:
        if failed and hasattr(self._sink, "abort"):
            self._sink.abort()
        else:
            self._sink.close()

    def _close_local(self, failed: bool) -> None:
        assert self._temporary is not None
        if not failed:
            self._sink.flush()
            os.fsync(self._sink.fileno())
        self._sink.close()
        if failed:
            Path(self._temporary).unlink(missing_ok=True)
        else:
            os.replace(self._temporary, self._location.path)


def children(location: Location) -> Iterator[Location]:
    """The files and folders directly in a folder, sorted by name; none where there is no such folder."""
    selector = pafs.FileSelector(location.path, allow_not_found=True)
    for info in sorted(location.filesystem.get_file_info(selector), key=lambda i: i.base_name):
        yield location / info.base_name


def delete_folder(location: Location) -> None:
    """Delete a folder and all in it, where it exists."""
    if exists(location):
        location.filesystem.delete_dir(location.path)
