"""What an S3-compatible store answers instead of what was asked for, and what people can do about it.

A message is made from the code of the fault alone. What else a store or a library says is left out: it may quote keys,
tokens or signed addresses.
"""

import re
from dataclasses import dataclass

from vtr_core.errors import VtrError


class StorageError(VtrError):
    """A location cannot be read or written."""


UNREACHABLE = "networkconnection"
NO_CREDENTIALS = "nocredentials"
CREDENTIALS_FAILED = "credentialsfailed"
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
}
_ARROW = re.compile(r"AWS Error (\w+)(?: \(HTTP status (\d+)\))? during (\w+) operation")
_UNPARSED = re.compile(r"ExceptionName: (\w+)")


@dataclass(frozen=True)
class Fault:
    """A store's answer: its code in lower case without underscores, and its HTTP status where it is known."""

    code: str
    status: int | None = None
    said_nothing: bool = False
    """Whether the answer had no body: the code is then a guess from the status."""

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later: the store is away, overloaded or failing."""
        return self.code in _TRANSIENT or (self.status is not None and (self.status >= 500 or self.status == 429))


def arrow_fault(error: OSError) -> Fault | None:
    """The fault in an error of pyarrow's file system; None where it is none of the store's."""
    text = str(error)
    found = _ARROW.search(text)
    if isinstance(error, FileNotFoundError) or found is None:
        return None
    unparsed = _UNPARSED.search(text)
    status = int(found[2]) if found[2] else None
    return Fault(_plain(unparsed[1] if unparsed else found[1]), status, "No response body" in text)


def code_fault(code: str, status: int | None) -> Fault:
    """The fault of an error code as the store's XML gives it."""
    return Fault(_plain(code), status)


def _plain(code: str) -> str:
    return code.replace("_", "").lower()


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
