"""Connection settings of an S3-compatible store, from the URI and the environment; credentials are not part of them."""

import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from vtr_core.storage.fault import StorageError

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
    parts = urlsplit(uri)
    if "@" in parts.netloc:
        raise StorageError(
            "an s3:// URI with credentials in it is refused, because URIs are shown and logged; leave them out and set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if not parts.netloc:
        raise StorageError(f"{uri.partition('?')[0]} names no bucket; write s3://bucket/key")
    key = unquote(parts.path + (f"#{parts.fragment}" if parts.fragment else "")).strip("/")
    path = f"{parts.netloc}/{key}" if key else parts.netloc
    return S3Place(_settings(parts.query), path)


def _settings(query: str) -> S3Settings:
    given = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(given) - set(_ALLOWED))
    if unknown:
        names = ", ".join(unknown)
        raise StorageError(f"an s3:// URI cannot set {names}; settings: {', '.join(_ALLOWED)}; keys belong in AWS_…")
    return S3Settings(
        endpoint=_endpoint(given),
        region=given.get("region"),
        anonymous=_switch(given, "anonymous"),
        force_virtual_addressing=_switch(given, "force_virtual_addressing"),
        ca_bundle=os.environ.get("AWS_CA_BUNDLE") or None,
    )


def _endpoint(given: dict[str, str]) -> str | None:
    """The endpoint of the URI, else that of AWS_ENDPOINT_URL_S3, else that of AWS_ENDPOINT_URL."""
    override = given.get("endpoint_override")
    if override:
        url = override if "://" in override else f"{given.get('scheme', 'https')}://{override}"
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


def _switch(given: dict[str, str], name: str) -> bool:
    value = given.get(name, "false").lower()
    if value not in _SWITCHES:
        raise StorageError(f"{name}={value} in an s3:// URI must be true or false")
    return _SWITCHES[value]
