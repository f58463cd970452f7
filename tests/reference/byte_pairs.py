"""CLIP's encoding as its paper and published file describe it, one caption at a time, with the `regex` library."""

from itertools import pairwise

import regex

WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+", regex.IGNORECASE)
VISIBLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]


def letters() -> list[str]:
    """The letter of every byte, in the order of ids, with the bytes beside."""
    order = VISIBLE + [byte for byte in range(256) if byte not in VISIBLE]
    return [chr(byte) if byte in VISIBLE else chr(256 + place - len(VISIBLE)) for place, byte in enumerate(order)]


def letter(byte: int) -> str:
    order = VISIBLE + [number for number in range(256) if number not in VISIBLE]
    return letters()[order.index(byte)]


def ids(merges: list[tuple[str, str]]) -> dict[str, int]:
    """The published id of every piece."""
    pieces = letters() + [one + "</w>" for one in letters()] + [left + right for left, right in merges]
    return {piece: number for number, piece in enumerate(pieces)}


def cut(text: str, merges: list[tuple[str, str]]) -> list[str]:
    """The pieces of a caption: every merge in turn, the earliest first, through each word as often as it applies."""
    found = []
    for word in WORD.findall(" ".join(text.split()).lower()):
        parts = [letter(byte) for byte in word.encode("utf-8")]
        parts[-1] += "</w>"
        while applied := [pair for pair in merges if pair in list(pairwise(parts))]:
            left, right = applied[0]
            joined: list[str] = []
            while parts:
                if parts[:2] == [left, right]:
                    joined.append(left + right)
                    parts = parts[2:]
                else:
                    joined.append(parts.pop(0))
            parts = joined
        found += parts
    return found
