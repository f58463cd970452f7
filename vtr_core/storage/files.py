"""Whole files and folders: reading, atomic and hashed writing, listing, deletion, checks of access, links."""

import hashlib
import io
import json
import logging
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from secrets import randbelow
from typing import Any, BinaryIO, Protocol, TypeVar, cast, runtime_checkable

import obstore
import pyarrow.fs as pafs
from obstore.exceptions import AlreadyExistsError

from vtr_core.errors import DatasetError
from vtr_core.json_text import parse_json
from vtr_core.storage.fault import Patience, StorageError, store_fault
from vtr_core.storage.location import Location, check_local_folder, check_no_folder, is_text, shown_name
from vtr_core.storage.s3_filesystem import Bucket, check_listing, mapped

logger = logging.getLogger(__name__)
T = TypeVar("T")


@runtime_checkable
class Sink(Protocol):
    """What takes bytes, one piece after another."""

    def write(self, data: Any, /) -> int:
        """Write a piece; returns its size."""


class HashingSink(io.RawIOBase):
    """A binary sink that passes data on to another one, which it does not close, and counts and hashes it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.digest = hashlib.sha256()
        self.size = 0
        self.fault: OSError | None = None
        """Why a write failed, if one did: writers that are not ours may raise something else afterwards."""

    def write(self, data: Any) -> int:
        """Write `data` to the underlying sink."""
        self.digest.update(data)
        try:
            self._sink.write(data)
        except OSError as error:
            self.fault = error
            raise
        written = memoryview(data).nbytes
        self.size += written
        return written

    def tell(self) -> int:
        """The number of bytes written so far."""
        return self.size

    def writable(self) -> bool:
        """True."""
        return True


_UNPUBLISHED = ".part-"
"""Between a local file's name and the writer's number in the name of what is not published yet."""


@contextmanager
def open_for_writing(location: Location) -> Iterator[BinaryIO]:
    """A binary file that is published at the end of the context; after an exception nothing is published.

    A local file is written to a temporary file in the same folder, flushed to disk and renamed. An object is written to
    a local temporary file and uploaded at the end: failed uploads can be retried, and aborted ones leave no object.
    StorageError, also for an OSError in the context, where the file cannot be made, written or published.
    """
    try:
        with _published(location) as sink:
            yield sink
    except OSError as error:
        why = error.strerror or str(error)
        raise StorageError(
            f"{location} cannot be written ({why}); name another file, free space, or see to its permissions"
        ) from error


@contextmanager
def _published(location: Location) -> Iterator[BinaryIO]:
    if location.is_local:
        check_no_folder(Path(location.path))
        Path(location.path).parent.mkdir(parents=True, exist_ok=True)
        writer = randbelow(10**7)  # not the process's number, which writers on several nodes may share
        temporary = f"{location.path}{_UNPUBLISHED}{writer}"
    else:
        handle, temporary = tempfile.mkstemp(prefix="vtr-upload-")
        os.close(handle)
    try:
        with open(temporary, "wb") as sink:
            yield sink
            sink.flush()
            if location.is_local:
                os.fsync(sink.fileno())
        _publish(temporary, location)
    finally:
        Path(temporary).unlink(missing_ok=True)  # on a full disk the partial file must not stay


def _publish(temporary: str, location: Location) -> None:
    if location.is_local:
        try:
            os.replace(temporary, location.path)
        except FileNotFoundError as error:
            raise StorageError(
                f"{location} was not written: its folder was cleared meanwhile, as by the same command in another "
                "terminal when that ended; run one at a time, and this again"
            ) from error
    elif location.s3 is not None:
        location.s3.put(location.path, mapped(temporary))
    else:
        pafs.copy_files(temporary, location.path, pafs.LocalFileSystem(), location.filesystem)


def exists(location: Location) -> bool:
    """Whether `location` is a file or a non-empty folder."""
    return location.info.type != pafs.FileType.NotFound


def read_bytes(location: Location) -> bytes:
    """The whole file; FileNotFoundError where there is none."""
    with location.open_stream() as stream:
        return cast(bytes, stream.read())


def read_verified(location: Location, sha256: str | None, advice: str) -> bytes:
    """The whole file; DatasetError with `advice` where it cannot be read, or has another hash (None: any is right)."""
    try:
        content = read_bytes(location)
    except OSError as error:
        raise DatasetError(f"{location} cannot be read ({error}); {advice}") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DatasetError(f"{location} is damaged (its sha256 is not the recorded one); {advice}")
    return content


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

    A name that is not UTF-8 is left out with a warning. Raises StorageError where `location` is a file, or a folder
    that may not be read.
    """
    for name in sorted(_listed(location)):
        yield location / name


def file_sizes(location: Location) -> dict[str, int]:
    """The bytes of each file directly in a folder, by name, of one listing; names and errors as for `children`."""
    return {name: info.size for name, info in _listed(location).items() if info.type == pafs.FileType.File}


def _listed(location: Location) -> dict[str, pafs.FileInfo]:
    try:
        if not location.is_local:
            selector = pafs.FileSelector(location.path, allow_not_found=True)
            return {info.base_name: info for info in location.filesystem.get_file_info(selector)}
        names = os.listdir(location.path)
        paths = [f"{location.path}/{name}" for name in names if is_text(name)]
        infos = location.filesystem.get_file_info(paths)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(f"{location} cannot be listed as a folder ({error.strerror or error})") from error
    for name in names:
        if not is_text(name):
            logger.warning("%s/%s: the name is not UTF-8, and is left out; rename it", location, shown_name(name))
    return {info.base_name: info for info in infos}


def files_below(folder: Location, left_out: Callable[[str], None]) -> Iterator[str]:
    """The names of all files below a folder, relative to it; links are followed, but not in a circle.

    left_out: called with a sentence for each name that is not UTF-8, and each folder that may not be read.
    """
    above = folder.path.rstrip("/") + "/"
    if not folder.is_local:
        for info in folder.filesystem.get_file_info(pafs.FileSelector(folder.path, recursive=True)):
            if info.type == pafs.FileType.File:
                yield info.path.removeprefix(above)
        return

    def refuse(error: OSError) -> None:
        left_out(f"{shown_name(error.filename)} cannot be read as a folder ({error.strerror}); see to its permissions")

    ways: dict[str, tuple[str, ...]] = {folder.path: (os.path.realpath(folder.path),)}
    for place, folders, names in os.walk(folder.path, onerror=refuse, followlinks=True):
        for name in (*folders, *names):
            if not is_text(name):
                left_out(f"{place}/{shown_name(name)}: the name is not UTF-8; rename it")
        way = ways.pop(place)
        targets = {name: os.path.realpath(os.path.join(place, name)) for name in folders if is_text(name)}
        folders[:] = sorted(name for name, target in targets.items() if target not in way)
        ways.update({os.path.join(place, name): (*way, targets[name]) for name in folders})
        yield from (os.path.join(place, name).removeprefix(above) for name in names if is_text(name))


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
        target, mark, writer = child.name.rpartition(_UNPUBLISHED)
        if mark and writer.isdigit() and (names is None or target in names):
            delete_file(child)


_AT_ONCE = Patience(0.0)
_PROBE = ".vtr-write-check"


class _DroppedError(Exception):
    """Raised to abort an upload whose successful start is all that is tested."""


def check_readable(location: Location) -> None:
    """StorageError unless the bucket exists and may be listed; takes seconds, so that commands check it first."""
    _ask(location, check_listing, _AT_ONCE)


def check_writable(location: Location) -> None:
    """StorageError unless files may be written below the folder `location`; leaves nothing behind.

    An upload to a store is started and aborted; to a local folder a nameless file is written.
    """
    if location.is_local:
        check_local_folder(Path(location.path))
        return

    def nothing() -> Iterator[bytes]:
        yield from ()
        raise _DroppedError

    with suppress(_DroppedError):
        _ask(location / _PROBE, lambda bucket, key: bucket.put(key, nothing(), use_multipart=True), _AT_ONCE)


def check_file_writable(location: Location) -> None:
    """StorageError unless the file `location` may be written: it is no folder, and files may be written beside it."""
    if location.is_local:
        check_no_folder(Path(location.path))
        check_local_folder(Path(location.path).parent)
    else:
        check_writable(location.parent)


def create_object(location: Location, content: bytes) -> bool | None:
    """Write an object only if none exists; False where one does, None off S3."""

    def create(bucket: Bucket, key: str) -> bool:
        try:
            bucket.put(key, content, mode="create")
        except AlreadyExistsError as error:
            fault = store_fault(error)
            if fault is None or fault.status != 412:  # obstore raises the same error for every conflict
                raise
            return False
        return True

    return _ask(location, create)


def presigned_url(location: Location, expires_s: int = 3600) -> str | None:
    """A link with which anyone can read the object for `expires_s` seconds; None off S3 and without credentials.

    The link contains a signature: show it, never log or store it.
    """
    if location.s3 is None or location.s3.settings.anonymous:
        return None
    lasts = timedelta(seconds=expires_s)
    return _ask(location, lambda bucket, key: obstore.sign(bucket, "GET", key, lasts), _AT_ONCE)


def _ask(location: Location, question: Callable[[Bucket, str], T], patience: Patience | None = None) -> T | None:
    """The store's answer to `question`; None off S3."""
    return None if location.s3 is None else location.s3.ask(location.path, question, patience)
