"""Parsing of JSON from outside: a ValueError for whatever is not valid, nothing else."""

import json
import re
from typing import Any

_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(content: bytes | str) -> Any:
    """The value of a JSON text; ValueError, and no other exception, for invalid JSON.

    That includes what Python's parser takes or fails on in other ways: brackets nested too deeply, and a half of a
    surrogate pair, which is no character and cannot be written to any file.
    """
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if _HALF_PAIR.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value
