"""obstore's client of one bucket: how it is reached, with whose credentials, and in which region."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.fs as pafs
from obstore.exceptions import InvalidPathError
from obstore.store import S3Store as Bucket

from vtr_core.storage.fault import Fault, RegionError, StorageError, store_fault
from vtr_core.storage.s3_settings import S3Settings

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, RetryConfig, S3Credential

_RETRIES: "RetryConfig" = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}
"""Of a hiccup. Longer than that patience.py waits: a signal is not handled within obstore, and requests that it repeats
keep their signature."""
_TIMEOUTS: "ClientConfig" = {
    "connect_timeout": timedelta(seconds=10),
    "read_timeout": timedelta(seconds=120),
    "timeout": timedelta(hours=1),
}
"""That of reading counts from the first byte that is sent: four parts of 10 MiB within it need 350 KB a second."""
_KEPT = timedelta(minutes=10)
"""obstore asks for credentials anew five minutes before their end: renewed ones are found after as long."""


def connected(settings: S3Settings, name: str) -> Bucket:
    """A client of the bucket `name`. It holds keys: it is never shown, stored or pickled."""
    by_host = settings.force_virtual_addressing or (settings.endpoint is None and "." not in name)
    given: dict[str, Any] = {}
    if settings.endpoint is not None:
        given["aws_endpoint_url_s3"] = settings.endpoint.replace("://", f"://{name}.") if by_host else settings.endpoint
    client: ClientConfig = {"allow_http": True, **_TIMEOUTS}
    if settings.ca_bundle is not None:
        client["root_certificate"] = _certificates(settings.ca_bundle)
    return Bucket(
        name,
        region=_region(settings, name),
        virtual_hosted_style_request=by_host,
        skip_signature=settings.anonymous,
        disable_bulk_delete=True,  # not every store knows it
        credential_provider=None if settings.anonymous else _credentials,
        client_options=client,
        retry_config=_RETRIES,
        **given,
    )


kept = cache(connected)
"""The process's one client of a bucket."""


def _region(settings: S3Settings, name: str) -> str:
    """The region that was given, else the bucket's own on AWS, else what a store that has no regions is told."""
    if settings.region is not None:
        return settings.region
    if settings.endpoint is not None:
        return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    try:
        return pafs.resolve_s3_region(name)
    except OSError as error:
        raise RegionError(str(error)) from None


def _certificates(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise StorageError(f"AWS_CA_BUNDLE={file} cannot be read ({error}); name a file of certificates") from error


def _credentials() -> "S3Credential":
    """Those of the standard chain of AWS: environment, profiles, single sign-on, the machine's role."""
    from botocore.exceptions import NoCredentialsError
    from botocore.session import Session

    found = Session().get_credentials()
    if found is None:
        raise NoCredentialsError
    keys = found.get_frozen_credentials()
    return {
        "access_key_id": keys.access_key,
        "secret_access_key": keys.secret_key,
        "token": keys.token,
        "expires_at": datetime.now(UTC) + _KEPT,
    }


def client_failures() -> tuple[type[Exception], ...]:
    """What boto3, with which MLflow keeps artifacts, raises when a store cannot be reached or refuses."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    return Boto3Error, BotoCoreError, ClientError


def certain(fault: Fault, settings: S3Settings, path: str) -> Fault:
    """`fault`, or its reason where that is not certain: why listing below `path`, which has an answer, fails as well.

    Answers to requests for a header have no body, and access is also denied to who has no credentials any more.
    """
    if fault.is_transient or fault.code not in ("unknown", "accessdenied"):
        return fault
    name, _, key = path.partition("/")
    try:
        check_listing(connected(settings, name), key)
    except Exception as error:
        return store_fault(error) or fault
    return fault


def check_listing(bucket: Bucket, key: str) -> None:
    """Ask for what lies below `key`, in one request, whatever it is."""
    with suppress(InvalidPathError):
        next(iter(bucket.list(key, chunk_size=1)), None)


def objects(bucket: Bucket, key: str) -> Iterator["ObjectMeta"]:
    """The objects below a folder.

    Consoles and pyarrow mark folders by empty objects `folder/`. obstore lists them as `folder` and cannot name them:
    what has no bytes and is not there when it is asked for is left out.
    """
    for page in bucket.list(key, chunk_size=1000):
        for one in page:
            if one["size"] or header(bucket, one["path"]) is not None:
                yield one


def header(bucket: Bucket, key: str) -> "ObjectMeta | None":
    """Size, time and ETag of an object; None where there is none."""
    try:
        return bucket.head(key)
    except FileNotFoundError:
        return None
