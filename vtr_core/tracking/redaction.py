"""URIs without the secrets in them, for messages, files and tags."""

import re

_PASSWORD = re.compile(r"(://[^:/@\s]*):\S*@")
_LONE_TOKEN = re.compile(r"://(?!\*\*\*@)[^:/@\s]+@")
_SECRET_VALUE = re.compile(r"(?i)([?&;][\w-]*(?:password|passwd|pwd|token|secret|signature|api_?key)=)[^&;\s]*")


def redact(text: str) -> str:
    """`text`, a URI or a message with URIs in it, with `***` for passwords, tokens and secret query values.

    `postgresql://user:password@host/db` becomes `postgresql://user:***@host/db`, `http://token@host` becomes
    `http://***@host`; a text without secrets stays as it is. In doubt, as for
    an @ in the path behind a port, more is taken out.
    """
    text = _PASSWORD.sub(r"\1:***@", text)
    text = _LONE_TOKEN.sub("://***@", text)
    return _SECRET_VALUE.sub(r"\1***", text)


def is_redacted(uri: str) -> bool:
    """Whether `redact` took something out of this URI."""
    return "***" in uri
