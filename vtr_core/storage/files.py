"""Operations on whole files and folders: existence, reading, writing, listing, deletion."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow.fs as pafs

from vtr_core.json_text import parse_json
from vtr_core.storage.administration import create_object
from vtr_core.storage.fault import StorageError
from vtr_core.storage.location import Location
from vtr_core.storage.publishing import open_for_writing, unpublished


def exists(location: Location) -> bool:
    """Whether `location` is a file or a non-empty folder."""
    return location.filesystem.get_file_info(location.path).type != pafs.FileType.NotFound


def read_bytes(location: Location) -> bytes:
    """The whole file; FileNotFoundError where there is none."""
    with location.filesystem.open_input_stream(location.path) as stream:
        return cast(bytes, stream.read())


def read_json(location: Location) -> Any:
    """The content of a JSON file; StorageError if it is damaged."""
    try:
        return parse_json(read_bytes(location))
    except ValueError as error:
        raise StorageError(f"{location} is not valid JSON ({error}); restore it or write it anew") from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def write_bytes(location: Location, content: bytes) -> None:
    """Write a file atomically; StorageError where that fails."""
    if location.s3 is not None:
        location.s3.put(location.path, content)
        return
    with open_for_writing(location) as sink:
        sink.write(content)


def write_json(location: Location, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_bytes(location, (json.dumps(value, indent=1) + "\n").encode())


def create_exclusively(location: Location, content: bytes) -> bool:
    """Create a file; False where it exists. Of several concurrent callers exactly one succeeds.

    On stores without conditional writes, and on stores other than S3-compatible ones, all succeed and the last one's
    content stays.
    """
    if location.is_local:
        return _create_local(Path(location.path), content)
    if exists(location):
        return False
    made = create_object(location, content)
    if made is None:
        write_bytes(location, content)
        return True
    # If the response to a first attempt was lost, the existing object is our own.
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
    """The files and folders directly in a folder, sorted by name; empty where there is no such folder.

    Raises StorageError where `location` is a file, or a name in it is not UTF-8.
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
    """Delete a file if it exists."""
    if exists(location):
        location.filesystem.delete_file(location.path)


def delete_folder(location: Location) -> None:
    """Delete a folder and its content if it exists."""
    if exists(location):
        location.filesystem.delete_dir(location.path)


def delete_unpublished(folder: Location, names: Collection[str] | None = None) -> None:
    """Delete what killed writers left in a folder that nobody writes to any more (nothing on object stores).

    With `names` only what was to become these files.
    """
    for child in children(folder):
        target = unpublished(child.name)
        if target is not None and (names is None or target in names):
            delete_file(child)
