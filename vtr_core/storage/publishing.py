"""Writing files that are there whole or not at all."""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow.fs as pafs

from vtr_core.storage.location import Location
from vtr_core.storage.s3_filesystem import S3Store


class open_for_writing:  # noqa: N801  (used like open)
    """A context that gives a binary sink and publishes the file at its end; after an exception nothing is published.

    A local file is written beside its place, flushed to disk and renamed. An object is written to a temporary file and
    sent at the end: an upload that fails half-way can be done again, and one that is given up leaves no object.
    """

    def __init__(self, location: Location) -> None:
        self._location = location

    def __enter__(self) -> BinaryIO:
        if self._location.is_local:
            self._temporary = f"{self._location.path}.part-{os.getpid()}"
            Path(self._temporary).parent.mkdir(parents=True, exist_ok=True)
        else:
            handle, self._temporary = tempfile.mkstemp(prefix="vtr-upload-")
            os.close(handle)
        self._sink = open(self._temporary, "wb")
        return cast(BinaryIO, self._sink)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self._close(failed=kind is not None)
        finally:
            Path(self._temporary).unlink(missing_ok=True)  # on a full disk what was written of it must not stay

    def _close(self, failed: bool) -> None:
        with self._sink:
            if not failed:
                self._sink.flush()
                if self._location.is_local:
                    os.fsync(self._sink.fileno())
        if failed:
            return
        if self._location.is_local:
            os.replace(self._temporary, self._location.path)
        else:
            self._send()

    def _send(self) -> None:
        handler = getattr(self._location.filesystem, "handler", None)
        if isinstance(handler, S3Store):
            handler.upload(self._temporary, self._location.path)
        else:
            local = pafs.LocalFileSystem()
            pafs.copy_files(self._temporary, self._location.path, local, self._location.filesystem)
