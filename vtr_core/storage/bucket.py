"""obstore's client of one bucket: settings from URI and environment, credentials, timeouts, retries."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow.fs as pafs
from obstore.exceptions import InvalidPathError
from obstore.store import S3Store as Bucket

from vtr_core.storage.fault import Fault, RegionError, StorageError, store_fault

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, RetryConfig, S3Credential


_SWITCHES = {"true": True, "1": True, "false": False, "0": False}
_ALLOWED = ("endpoint_override", "scheme", "region", "anonymous", "force_virtual_addressing")


@dataclass(frozen=True)
class S3Settings:
    """Connection settings of one store; credentials come from AWS's standard chain."""

    endpoint: str | None
    """The store's URL; None for AWS."""
    region: str | None
    """None: the bucket's own region, as AWS reports it."""
    anonymous: bool = False
    force_virtual_addressing: bool = False
    ca_bundle: str | None = None
    """File of trusted CA certificates."""

    @property
    def shown(self) -> str:
        """The endpoint as shown in messages."""
        return self.endpoint or "AWS"


@dataclass(frozen=True)
class S3Place:
    """A parsed `s3://bucket/key?setting=value`."""

    settings: S3Settings
    path: str
    """bucket/key"""


def parse_s3(uri: str) -> S3Place:
    """The parsed URI; StorageError, which does not quote possibly secret parts, if it is malformed."""
    place, _, query = uri.partition("?")  # a key may hold a #, which ends the path of other URIs
    parts = urlsplit(place, allow_fragments=False)
    if "@" in parts.netloc:
        raise StorageError(
            "an s3:// URI with credentials in it is refused, because URIs are shown and logged; leave them out and set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if not parts.netloc:
        raise StorageError(f"{place} names no bucket; write s3://bucket/key")
    key = unquote(parts.path).strip("/")
    path = f"{parts.netloc}/{key}" if key else parts.netloc
    return S3Place(_settings(query), path)


def _settings(query: str) -> S3Settings:
    settings = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(settings) - set(_ALLOWED))
    if unknown:
        names = ", ".join(unknown)
        raise StorageError(f"an s3:// URI cannot set {names}; settings: {', '.join(_ALLOWED)}; keys belong in AWS_…")
    return S3Settings(
        endpoint=_endpoint(settings),
        region=settings.get("region"),
        anonymous=_switch(settings, "anonymous"),
        force_virtual_addressing=_switch(settings, "force_virtual_addressing"),
        ca_bundle=os.environ.get("AWS_CA_BUNDLE") or None,
    )


def _endpoint(settings: dict[str, str]) -> str | None:
    """The endpoint of the URI, else that of AWS_ENDPOINT_URL_S3, else that of AWS_ENDPOINT_URL."""
    override = settings.get("endpoint_override")
    if override:
        url = override if "://" in override else f"{settings.get('scheme', 'https')}://{override}"
        return _checked(url, "endpoint_override")
    for variable in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if os.environ.get(variable):
            return _checked(os.environ[variable], variable)
    return None


def _checked(url: str, where: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise StorageError(f"{where} must be http://host:port or https://host:port, without user and password")
    return f"{parts.scheme}://{parts.netloc}"


def _switch(settings: dict[str, str], name: str) -> bool:
    value = settings.get(name, "false").lower()
    if value not in _SWITCHES:
        raise StorageError(f"{name}={value} in an s3:// URI must be true or false")
    return _SWITCHES[value]


_RETRIES: "RetryConfig" = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}
"""obstore's own retries, for short disturbances. Longer ones are retried by patience.py, since obstore handles no
signals while it retries and repeats requests with their old signature."""
_TIMEOUTS: "ClientConfig" = {
    "connect_timeout": timedelta(seconds=10),
    "read_timeout": timedelta(seconds=120),
    "timeout": timedelta(hours=1),
}
"""Timeouts of one request. `read_timeout` begins at the first byte sent: an upload of four parts of 10 MiB needs at
least 350 KB/s to stay within it."""
_KEPT = timedelta(minutes=10)
"""Claimed lifetime of credentials. obstore renews them five minutes before expiry, so rotated credentials are picked
up after five minutes."""


def connected(settings: S3Settings, name: str) -> Bucket:
    """A client of the bucket `name`. It holds credentials and must not be shown, stored or pickled."""
    by_host = settings.force_virtual_addressing or (settings.endpoint is None and "." not in name)
    endpoint: dict[str, Any] = {}
    if settings.endpoint is not None:
        endpoint["aws_endpoint_url_s3"] = (
            settings.endpoint.replace("://", f"://{name}.") if by_host else settings.endpoint
        )
    client: ClientConfig = {"allow_http": True, **_TIMEOUTS}
    if settings.ca_bundle is not None:
        client["root_certificate"] = _certificates(settings.ca_bundle)
    return Bucket(
        name,
        region=_region(settings, name),
        virtual_hosted_style_request=by_host,
        skip_signature=settings.anonymous,
        disable_bulk_delete=True,  # not every store supports it
        credential_provider=None if settings.anonymous else _credentials,
        client_options=client,
        retry_config=_RETRIES,
        **endpoint,
    )


client_of = cache(connected)
"""As `connected`, with one client per bucket and process."""


def _region(settings: S3Settings, name: str) -> str:
    """The given region, else on AWS the bucket's own, else a default for stores without regions."""
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
    """Credentials from AWS's standard chain: environment, profiles, single sign-on, the machine's role."""
    from botocore.exceptions import NoCredentialsError
    from botocore.session import Session

    credentials = Session().get_credentials()
    if credentials is None:
        raise NoCredentialsError
    keys = credentials.get_frozen_credentials()
    return {
        "access_key_id": keys.access_key,
        "secret_access_key": keys.secret_key,
        "token": keys.token,
        "expires_at": datetime.now(UTC) + _KEPT,
    }


def certain(fault: Fault, settings: S3Settings, path: str) -> Fault:
    """`fault`, or, where it is ambiguous, the fault of a list request below `path`, whose response has a body.

    Ambiguous are responses to HEAD, which have no body, and "access denied", which expired credentials also cause.
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
    """Send one list request below `key` and discard its result; the store's errors propagate."""
    with suppress(InvalidPathError):
        next(iter(bucket.list(key, chunk_size=1)), None)


def objects(bucket: Bucket, key: str) -> Iterator["ObjectMeta"]:
    """The objects below a folder.

    Consoles and pyarrow mark folders by empty objects `folder/`, which obstore lists as `folder` and cannot address:
    empty objects without a header are therefore left out.
    """
    for page in bucket.list(key, chunk_size=1000):
        for item in page:
            if item["size"] or header(bucket, item["path"]) is not None:
                yield item


def header(bucket: Bucket, key: str) -> "ObjectMeta | None":
    """Size, time and ETag of an object; None where there is none."""
    try:
        return bucket.head(key)
    except FileNotFoundError:
        return None
