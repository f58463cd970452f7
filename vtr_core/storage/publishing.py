"""Atomic writing of files."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow.fs as pafs

from vtr_core.storage.fault import StorageError
from vtr_core.storage.local_folder import check_no_folder
from vtr_core.storage.location import Location
from vtr_core.storage.open_objects import mapped

_UNPUBLISHED = ".part-"
"""Between a local file's name and the writer's process in the name of what is not published yet."""


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
    temporary = _beside(location) if location.is_local else _elsewhere()
    try:
        with open(temporary, "wb") as sink:
            yield sink
            sink.flush()
            if location.is_local:
                os.fsync(sink.fileno())
        _publish(temporary, location)
    finally:
        Path(temporary).unlink(missing_ok=True)  # on a full disk the partial file must not stay


def unpublished(name: str) -> str | None:
    """The file that a local file will become, of which the writer has not ended or was killed; None for others."""
    target, mark, process = name.rpartition(_UNPUBLISHED)
    return target if mark and process.isdigit() else None


def _beside(location: Location) -> str:
    check_no_folder(Path(location.path))
    Path(location.path).parent.mkdir(parents=True, exist_ok=True)
    return f"{location.path}{_UNPUBLISHED}{os.getpid()}"


def _elsewhere() -> str:
    handle, path = tempfile.mkstemp(prefix="vtr-upload-")
    os.close(handle)
    return path


def _publish(temporary: str, location: Location) -> None:
    if location.is_local:
        os.replace(temporary, location.path)
    elif location.s3 is not None:
        location.s3.put(location.path, mapped(temporary))
    else:
        pafs.copy_files(temporary, location.path, pafs.LocalFileSystem(), location.filesystem)
