"""sha256 fingerprints of JSON-like values: equal content gives an equal fingerprint, whatever the key order."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

SHORT = 7


def fingerprint(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """The hexadecimal sha256 of `value` as canonical JSON (sorted keys, no spaces)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def short(full: str) -> str:
    """The 7-character form of a fingerprint, for names and messages."""
    return full[:SHORT]


def key64(text: str) -> int:
    """A signed 64-bit hash of `text` (blake2b), used to tell equal ids and captions apart in a batch."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)
