"""Parsing of JSON from outside: a ValueError for whatever is not valid, nothing else."""

import json
import re
from typing import Any

_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(content: bytes | str) -> Any:
    """The value of a JSON text; ValueError, and no other exception, for invalid JSON.

    That includes what Python's parser takes or fails on in other ways: brackets nested too deeply, a half of a
    surrogate pair, which is no character and cannot be written to any file, and an object that has a name twice, of
    which only the last would be read.
    """
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if _HALF_PAIR.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"an object has the name {next(name for name in names if names.count(name) > 1)!r} twice")
    return members
