"""Errors of S3-compatible stores with the advice that goes with each, and retries with back-off."""

import logging
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from obstore.exceptions import BaseError, InvalidPathError, UnauthenticatedError

from vtr_core.errors import VtrError
from vtr_core.limits import S3


class StorageError(VtrError):
    """A location cannot be read or written."""


class RegionError(Exception):
    """AWS did not report the region of a bucket."""


UNREACHABLE = "networkconnection"
NO_CREDENTIALS = "nocredentials"
CREDENTIALS_FAILED = "credentialsfailed"
NO_BUCKET = "nosuchbucket"
INVALID_KEY = "invalidkey"
_TRANSIENT = {
    UNREACHABLE,
    "slowdown",
    "throttling",
    "throttlingexception",
    "requestlimitexceeded",
    "toomanyrequests",
    "serviceunavailable",
    "internalfailure",
    "internalerror",
    "requesttimeout",
    "operationaborted",
    "conditionalrequestconflict",
}
_STATUS = re.compile(r"status code: (\d+)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_NO_ANSWER, _ELSEWHERE = "HTTP error", "redirect without LOCATION"
_OF_CREDENTIALS = re.compile(r"credential provider: (\w+)")


@dataclass(frozen=True)
class Fault:
    """A store's error: its code in lower case ("unknown" for responses without body), and the HTTP status, if known."""

    code: str
    status: int | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later: the store is unreachable, overloaded or failing."""
        return self.code in _TRANSIENT or (self.status is not None and (self.status >= 500 or self.status == 429))


def store_fault(error: Exception) -> Fault | None:
    """The store's fault in an exception of obstore; None for other errors and for missing objects."""
    text = str(error)
    status, code, refused = (pattern.search(text) for pattern in (_STATUS, _CODE, _OF_CREDENTIALS))
    fault = Fault(code[1].lower() if code else "unknown", int(status[1]) if status else None)
    match error:
        case FileNotFoundError():
            return fault if fault.code == NO_BUCKET else None
        case RegionError():
            return Fault(NO_BUCKET if "not found" in text else UNREACHABLE)
        case InvalidPathError() | ValueError():
            return Fault(INVALID_KEY)
        case UnauthenticatedError() if refused:
            return Fault(NO_CREDENTIALS if refused[1] == "NoCredentialsError" else CREDENTIALS_FAILED)
        case BaseError() if _ELSEWHERE in text:
            return Fault("permanentredirect")
        case BaseError() if status is None and _NO_ANSWER in text:
            return Fault(UNREACHABLE)
        case BaseError():
            return fault
        case _:
            return None


def storage_error(fault: Fault, uri: str, endpoint: str, tried_s: float) -> StorageError:
    """The error that names `fault` at `uri`, after `tried_s` seconds of trying, and says what to do."""
    return StorageError(f"{uri}: {_advice(fault, endpoint, tried_s)}")


def _advice(fault: Fault, endpoint: str, tried_s: float) -> str:
    variables = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
    match fault.code:
        case "expiredtoken" | "expiredtokenexception" | "tokenrefreshrequired" | "requestexpired":
            return f"the credentials have expired; renew them (aws sso login, or new {variables}) and run this again"
        case "invalidtoken" | "invalidclienttokenid" | "unrecognizedclient":
            return f"the store refuses the session token; renew it ({variables} belong together)"
        case "invalidaccesskeyid":
            return (
                f"the store at {endpoint} does not know the access key; set AWS_ACCESS_KEY_ID or AWS_PROFILE, "
                "and AWS_ENDPOINT_URL if the key is another store's"
            )
        case "signaturedoesnotmatch":
            return "the secret key does not belong to the access key; set AWS_SECRET_ACCESS_KEY anew"
        case "accessdenied" | "allaccessdisabled" | "accountproblem":
            return (
                "access is denied: the credentials are valid but not allowed this; "
                "grant them s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject there"
            )
        case "nosuchbucket":
            return f"there is no such bucket at {endpoint}; create it, or correct the URI or AWS_ENDPOINT_URL"
        case "requesttimetooskewed":
            return "this machine's clock is wrong by more than the store allows; set it"
        case "permanentredirect" | "authorizationheadermalformed" | "illegallocationconstraint":
            return "the bucket is in another region; set AWS_REGION or add ?region=… to the URI"
        case "nocredentials":
            return f"no credentials were found; set {variables}, or AWS_PROFILE, or add ?anonymous=true for public data"
        case "credentialsfailed":
            return (
                "the credentials could not be fetched or refreshed; log in again (aws sso login) or check AWS_PROFILE"
            )
        case "invalidkey":
            return "an object's key has an empty part, '.' or '..' between slashes; rename it"
        case "networkconnection":
            return (
                f"the store at {endpoint} cannot be reached (tried for {tried_s:.0f} s); "
                "check AWS_ENDPOINT_URL and the network, then run this again"
            )
        case _ if fault.is_transient:
            return (
                f"the store at {endpoint} goes on failing ({_said(fault)}, tried for {tried_s:.0f} s); "
                "run this again when it has recovered, or with fewer workers if it asks to slow down"
            )
        case _:
            return f"the store at {endpoint} refuses ({_said(fault)})"


def _said(fault: Fault) -> str:
    status = "" if fault.status is None else f"HTTP {fault.status}"
    return " ".join(part for part in (status, "" if fault.code == "unknown" else fault.code) if part)


logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """Retry policy: the delay before retry n = 0, 1, … is uniform on [0, min(longest, first · 2ⁿ)] seconds.

    Attempts that would begin later than `seconds` after the first one are not made.
    """

    seconds: float
    first_s: float = 0.2
    longest_s: float = 8.0
    draw: Callable[[], float] = random.random
    """Draws from the uniform distribution on [0, 1)."""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic

    def delay(self, attempt: int) -> float:
        """Seconds to wait before retry number `attempt`."""
        return self.draw() * min(self.longest_s, self.first_s * 2 ** min(attempt, 60))


def given_patience() -> Patience:
    """The policy with the time limit VTR_S3_PATIENCE_S in seconds, by default 120."""
    return Patience(S3.seconds())


def persist(
    operation: Callable[[], T],
    judge: Callable[[Exception], Fault | None],
    give_up: Callable[[Fault, float], StorageError],
    patience: Patience,
    name: str,
) -> T:
    """The result of `operation`, retried while `judge` finds a transient fault and time is left.

    Exceptions in which `judge` finds no fault propagate. Other faults, and transient ones at the time limit, raise
    `give_up(fault, seconds spent)`.
    """
    begun = patience.now()
    attempt = 0
    while True:
        try:
            return operation()
        except Exception as error:
            fault = judge(error)
            if fault is None:
                raise
        spent = patience.now() - begun
        delay = patience.delay(attempt)
        if not fault.is_transient or spent + delay > patience.seconds:
            # The cause is not shown: it may quote keys or signed URLs.
            raise give_up(fault, spent) from None
        if attempt == 0:
            logger.warning("%s: %s; trying again for %.0f s", name, fault.code, patience.seconds)
        patience.sleep(delay)
        attempt += 1
