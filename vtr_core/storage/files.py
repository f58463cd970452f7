"""Whole files and folders: there or not, read, written, listed, deleted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow.fs as pafs

from vtr_core.json_text import parse_json
from vtr_core.storage.administration import create_object
from vtr_core.storage.fault import StorageError
from vtr_core.storage.location import Location
from vtr_core.storage.publishing import open_for_writing


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
        return parse_json(read_bytes(location))
    except ValueError as error:
        raise StorageError(f"{location} is not valid JSON ({error}); restore it or write it anew") from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def write_bytes(location: Location, content: bytes) -> None:
    """Write a file that is either there whole or not at all."""
    if location.s3 is not None:
        location.s3.put(location.path, content)
        return
    with open_for_writing(location) as sink:
        sink.write(content)


def write_json(location: Location, value: Any) -> None:
    """Write `value` as indented JSON, whole or not at all."""
    write_bytes(location, (json.dumps(value, indent=1) + "\n").encode())


def create_exclusively(location: Location, content: bytes) -> bool:
    """Make a file that is not there yet; False where it is. Of several who try at once one succeeds.

    On a store that does not know conditional writes the last one does; on other than S3-compatible ones, too.
    """
    if location.is_local:
        return _create_local(Path(location.path), content)
    if exists(location):
        return False
    made = create_object(location, content)
    if made is None:
        write_bytes(location, content)
        return True
    # Where the answer to a first attempt was lost, the object that is in the way is ours.
    return made or read_bytes(location) == content


def _create_local(path: Path, content: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb")
    except FileExistsError:
        return False
    try:
        with file:
            file.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def children(location: Location) -> Iterator[Location]:
    """The files and folders directly in a folder, sorted by name; none where there is no such folder.

    Raises StorageError where it is a file, or a name in it is not UTF-8.
    """
    selector = pafs.FileSelector(location.path, allow_not_found=True)
    try:
        names = sorted(info.base_name for info in location.filesystem.get_file_info(selector))
    except UnicodeDecodeError as error:
        raise StorageError(f"{location} holds a file whose name is not UTF-8 ({error}); rename it") from error
    except OSError as error:
        raise StorageError(f"{location} cannot be listed as a folder ({error})") from error
    for name in names:
        yield location / name


def delete_file(location: Location) -> None:
    """Delete a file, where it exists."""
    if exists(location):
        location.filesystem.delete_file(location.path)


def delete_folder(location: Location) -> None:
    """Delete a folder and all in it, where it exists."""
    if exists(location):
        location.filesystem.delete_dir(location.path)
