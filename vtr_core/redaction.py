"""Secrets of URIs, taken out of whatever is shown or stored: errors, run.json, MLflow's tags, logs."""

import re

_WITH_PASSWORD = re.compile(r"://([^:/@\s]*):(\S*)@")
_LONE_TOKEN = re.compile(r"://(?!\*\*\*@)[^:/@\s]+@")
_NAMES = (
    *("password", "passwd", "pwd", "passphrase", "token", "secret", "signature", "sig", "credential", "credentials"),
    *("auth", "authorization", "jwt", "key", "keyid", "key_id", "key-id"),
)
"""Ends of the names of query values and fragments that are secret: `sig`, `X-Amz-Signature`, `secret_key` …"""
_SECRET_VALUE = re.compile(rf"(?i)([?&;#][\w.%-]*(?:{'|'.join(_NAMES)})=)[^&;#\s'\"]*")
_NO_PASSWORDS = ("", "x-oauth-basic")
"""What stands for the password where the user name is the token."""


def redact(text: str) -> str:
    """`text`, a URI or a message with URIs in it, with `***` for passwords, tokens and secret query values.

    `postgresql://user:password@host/db` becomes `postgresql://user:***@host/db`; `http://token@host` and
    `http://token:@host` become `http://***@host`; `#access_token=x` becomes `#access_token=***`. A text without secrets
    stays as it is. In doubt, as for an @ in the path behind a port, more is taken out.
    """
    text = _WITH_PASSWORD.sub(lambda part: "://***@" if part[2] in _NO_PASSWORDS else f"://{part[1]}:***@", text)
    text = _LONE_TOKEN.sub("://***@", text)
    return _SECRET_VALUE.sub(r"\1***", text)


def is_redacted(uri: str) -> bool:
    """Whether `redact` took something out of this URI."""
    return "***" in uri


def has_secret(uri: str) -> bool:
    """Whether the URI states a password or a secret query value; a user name alone, as of HDFS, is none."""
    return _WITH_PASSWORD.search(uri) is not None or _SECRET_VALUE.search(uri) is not None
