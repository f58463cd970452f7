"""What a store is asked beside bytes: whether a bucket can be used, what lies in it, links for people.

Locations that are not on an S3-compatible store have none of this: checks pass, there are no ETags and no links.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from vtr_core.storage.client import certain, client, client_fault
from vtr_core.storage.fault import Fault, StorageError, storage_error
from vtr_core.storage.location import Location
from vtr_core.storage.patience import Patience, given_patience, persist
from vtr_core.storage.s3_filesystem import S3Store

T = TypeVar("T")
_PROBE = ".vtr-write-check"


@dataclass(frozen=True)
class Stored:
    """An object in a store."""

    bytes: int
    etag: str


def store_name(location: Location) -> str | None:
    """The endpoint of the S3-compatible store that `location` is on, "AWS" for AWS; None for other places."""
    found = _store(location)
    return None if found is None else found.settings.shown


def check_readable(location: Location) -> None:
    """StorageError unless the bucket is there and may be listed; within seconds, so that commands begin with it."""
    _ask(location, lambda s3, bucket, key: s3.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1), Patience(0.0))


def check_writable(location: Location) -> None:
    """StorageError unless objects may be written below `location`: an upload is begun and dropped, nothing is left."""

    def begin_and_drop(s3: Any, bucket: str, key: str) -> None:
        probe = {"Bucket": bucket, "Key": f"{key}/{_PROBE}".lstrip("/")}
        begun = s3.create_multipart_upload(**probe)
        s3.abort_multipart_upload(**probe, UploadId=begun["UploadId"])

    _ask(location, begin_and_drop, Patience(0.0))


def etag(location: Location) -> str | None:
    """The ETag of an object; None where there are none. FileNotFoundError where there is no object."""
    answer = _ask(location, lambda s3, bucket, key: s3.head_object(Bucket=bucket, Key=key), given_patience())
    return None if answer is None else _plain(answer["ETag"])


def listing(folder: Location) -> dict[str, Stored] | None:
    """The objects directly in a folder by name, from as few requests as there are thousands; None off S3."""

    def pages(s3: Any, bucket: str, key: str) -> dict[str, Stored]:
        prefix = f"{key}/" if key else ""
        asked = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
        return dict(_objects(asked, prefix))

    return _ask(folder, pages, given_patience())


def _objects(pages: Any, prefix: str) -> Iterator[tuple[str, Stored]]:
    for page in pages:
        for one in page.get("Contents", ()):
            yield one["Key"].removeprefix(prefix), Stored(int(one["Size"]), _plain(one["ETag"]))


def create_object(location: Location, content: bytes) -> bool | None:
    """Write an object that is not there yet; False where there is one, None off S3."""

    def create(s3: Any, bucket: str, key: str) -> bool:
        try:
            s3.put_object(Bucket=bucket, Key=key, Body=content, IfNoneMatch="*")
        except Exception as error:
            if (fault := client_fault(error)) is not None and fault.code == "preconditionfailed":
                return False
            raise
        return True

    return _ask(location, create, given_patience())


def presigned_url(location: Location, expires_s: int = 3600) -> str | None:
    """A link with which anyone can read the object for `expires_s` seconds; None off S3.

    It holds a signature: show it, never log or store it.
    """

    def sign(s3: Any, bucket: str, key: str) -> str:
        return str(s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key}, ExpiresIn=expires_s))

    return _ask(location, sign, Patience(0.0))


def _store(location: Location) -> S3Store | None:
    handler = getattr(location.filesystem, "handler", None)
    return handler if isinstance(handler, S3Store) else None


def _ask(location: Location, question: Callable[[Any, str, str], T], patience: Patience) -> T | None:
    """What the store answers to a question of a client, a bucket and a key; None off S3.

    The store's faults become a StorageError, and a missing object a FileNotFoundError.
    """
    found = _store(location)
    if found is None:
        return None
    settings, region, (bucket, _, key) = found.settings, found.region, location.path.partition("/")

    def ask() -> T:
        try:
            return question(client(settings, region), bucket, key)
        except Exception as error:
            fault = client_fault(error)
            if fault is None or fault.status != 404 or not (fault.said_nothing or fault.code == "nosuchkey"):
                raise
        raise FileNotFoundError(f"there is no object {location}")

    def give_up(fault: Fault, tried_s: float) -> StorageError:
        reason = certain(fault, settings, region, location.path)
        return storage_error(reason, location.uri, settings.shown, tried_s)

    return persist(ask, client_fault, give_up, patience, location.uri)


def _plain(value: str) -> str:
    return value.strip('"')
