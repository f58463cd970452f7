"""boto3's view of a store: for what pyarrow's file system cannot do, and for faults that it cannot name."""

from functools import cache
from typing import TYPE_CHECKING, Any

from vtr_core.storage.fault import CREDENTIALS_FAILED, NO_CREDENTIALS, UNREACHABLE, Fault, code_fault
from vtr_core.storage.s3_settings import S3Settings

if TYPE_CHECKING:
    from botocore.config import Config

_ATTEMPTS = 3
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 10, 30


def client(settings: S3Settings, region: str) -> Any:
    """A client of the store. Credentials are looked up anew for each, so renewed ones are found."""
    import boto3

    return boto3.session.Session().client(
        "s3",
        region_name=region,
        endpoint_url=settings.endpoint,
        verify=settings.ca_bundle,
        config=_config(settings),
    )


@cache
def _config(settings: S3Settings) -> "Config":
    from botocore import UNSIGNED
    from botocore.config import Config

    by_path = settings.endpoint is not None and not settings.force_virtual_addressing
    return Config(
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        signature_version=UNSIGNED if settings.anonymous else "s3v4",
        s3={"addressing_style": "path" if by_path else "auto"},
        # Not every store knows the newer checksums.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )


def client_failures() -> tuple[type[Exception], ...]:
    """What boto3 raises when a store cannot be reached or refuses."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    return Boto3Error, BotoCoreError, ClientError


def client_fault(error: Exception) -> Fault | None:
    """The fault in an error of boto3's; None where it is none of the store's."""
    from botocore import exceptions as known

    match error:
        case known.ClientError():
            return _answer(error.response)
        case known.NoCredentialsError() | known.PartialCredentialsError():
            return Fault(NO_CREDENTIALS)
        case known.HTTPClientError() | known.ConnectionError():
            return Fault(UNREACHABLE)
        case known.BotoCoreError() if _is_of_credentials(error):
            return Fault(CREDENTIALS_FAILED)
        case known.BotoCoreError():
            return Fault(type(error).__name__.lower())
        case _:
            return None


def _answer(response: dict[str, Any]) -> Fault:
    """The fault in an error's answer; without a body its code is the HTTP status."""
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = str(response.get("Error", {}).get("Code", "unknown"))
    return Fault("unknown", status, said_nothing=True) if code.isdigit() else code_fault(code, status)


def _is_of_credentials(error: Exception) -> bool:
    words = ("Credential", "Token", "SSO", "Profile", "Login", "RefreshWithMFA")
    return any(word in type(error).__name__ for word in words)


def certain(fault: Fault, settings: S3Settings, region: str, path: str) -> Fault:
    """`fault`, or its reason where that is not certain: why listing below `path`, which has an answer, fails as well.

    Answers to requests for a header have no body, and access is also denied to who has no credentials.
    """
    if fault.is_transient or not (fault.said_nothing or fault.code == "accessdenied"):
        return fault
    bucket, _, key = path.partition("/")
    try:
        client(settings, region).list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
    except Exception as error:
        found = client_fault(error)
        if found is None:
            raise
        return found
    return fault
