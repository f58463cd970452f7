"""Requests to a store other than reads and writes: access checks, creation, presigned links.

Outside S3-compatible stores there are no links; reading is not checked, writing in local folders is.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError

from vtr_core.storage.bucket import Bucket, check_listing
from vtr_core.storage.fault import Patience, store_fault
from vtr_core.storage.location import Location, check_local_folder, check_no_folder

T = TypeVar("T")
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
