"""CLIP's byte-pair encoding: text as pieces of words, by the merges of a published file (Sennrich et al. 2016)."""

import gzip
import html
import io
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from vtr_core import storage
from vtr_core.errors import InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, locate

END = "</w>"
"""Ends the last piece of a word."""
MAX_MERGES = 49_152 - 256 - 2
"""The number of merges that CLIP takes of its file; with 2 · 256 bytes and the start and end tokens: 49,408 tokens."""
_MAX_BYTES, _REMEMBERED = 64 * 2**20, 2**16
_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})


@dataclass(frozen=True)
class BytePairs:
    """Merges of adjacent pieces, in order of priority."""

    merges: tuple[tuple[str, str], ...]

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """All pieces in the order of CLIP's ids, from id 0 on: bytes, bytes that end a word, and merged ones."""
        single = tuple(_letters().values())
        return (*single, *(letter + END for letter in single), *(left + right for left, right in self.merges))

    @property
    def fingerprint(self) -> str:
        """sha256 of the merges in their order."""
        return fingerprint([list(pair) for pair in self.merges])

    def cut(self, text: str) -> list[str]:
        """The pieces of `text` in order; `<|startoftext|>` and the like are plain text."""
        return [piece for word in _word().findall(clean(text)) for piece in self._of_word(word)]

    def _of_word(self, word: str) -> tuple[str, ...]:
        if word not in self._seen:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen[word] = self._merged(word)
        return self._seen[word]

    def _merged(self, word: str) -> tuple[str, ...]:
        *first, last = (_letters()[byte] for byte in word.encode())
        parts = [*first, last + END]
        while len(parts) > 1:
            pair = min(pairwise(parts), key=lambda one: self._rank.get(one, sys.maxsize))
            if pair not in self._rank:
                break
            parts = list(_joined(parts, pair))
        return tuple(parts)

    @cached_property
    def _rank(self) -> dict[tuple[str, str], int]:
        return {pair: number for number, pair in enumerate(self.merges)}

    @cached_property
    def _seen(self) -> dict[str, tuple[str, ...]]:
        return {}


def clean(text: str) -> str:
    """Lower-case text in Unicode's NFC, with HTML escapes resolved (twice), straight quotes and single spaces.

    As in the published code, except for ftfy's repair of text that was decoded wrongly.
    """
    plain = unicodedata.normalize("NFC", html.unescape(html.unescape(text))).translate(_STRAIGHT)
    return " ".join(plain.split()).lower()


def read_byte_pairs(uri: str) -> BytePairs:
    """The merges of `bpe_simple_vocab_16e6.txt.gz`, or of a `merges.txt` with or without its `vocab.json` beside it.

    InputError where the file has another format, or where `vocab.json` has other pieces or another order.
    """
    place = locate(uri)
    lines = _lines(place)[1 : MAX_MERGES + 1]
    found = BytePairs(tuple(_pair(line, f"{place}, line {number}") for number, line in enumerate(lines, start=2)))
    if not found.merges or len(set(found.pieces)) != len(found.pieces):
        raise InputError(
            f"{place} holds {'a piece twice' if found.merges else 'no merges'}; give CLIP's file of merges"
        )
    beside = place.parent / "vocab.json"
    if place.name == "merges.txt" and storage.exists(beside):
        _check_ids(found, beside)
    return found


def _lines(place: Location) -> Sequence[str]:
    try:
        content = storage.read_bytes(place)
        if content[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(_MAX_BYTES)
        return content.decode().rstrip("\n").split("\n")
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{place} is no readable text of merges ({error}); give CLIP's file of merges") from error


def _pair(line: str, where: str) -> tuple[str, str]:
    parts = line.split()
    if len(parts) != 2:
        raise InputError(f"{where}: {line[:40]!r} is not two pieces with a space between; give CLIP's file of merges")
    return parts[0], parts[1]


def _check_ids(pairs: BytePairs, place: Location) -> None:
    try:
        ids = parse_json(storage.read_bytes(place))
    except (OSError, ValueError) as error:
        raise InputError(f"{place} is no readable JSON ({error}); restore it, or move merges.txt elsewhere") from error
    if not isinstance(ids, Mapping) or any(ids.get(piece) != number for number, piece in enumerate(pairs.pieces)):
        raise InputError(f"{place} has other pieces or ids than merges.txt beside it; give the two of one CLIP")


def _joined(parts: Sequence[str], pair: tuple[str, str]) -> Iterator[str]:
    """The parts with every occurrence of `pair`, from the left, merged into one."""
    place = 0
    while place < len(parts):
        both = tuple(parts[place : place + 2]) == pair
        yield "".join(pair) if both else parts[place]
        place += 2 if both else 1


@cache
def _letters() -> Mapping[int, str]:
    """A visible letter for every byte, in the order of CLIP's ids (Radford et al. 2019)."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in set(visible)]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + number) for number, byte in enumerate(rest)}


@cache
def _word() -> re.Pattern[str]:
    """The pattern of pieces: endings such as 's and 't, runs of letters, single digits, runs of other symbols."""
    numbers = "".join(one for one in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(one) in ("Nl", "No"))
    letters, others = rf"(?:(?![{numbers}])[^\W\d_])+", r"(?:[^\s\w]|_)+"
    return re.compile(rf"'s|'t|'re|'ve|'m|'ll|'d|{letters}|[\d{numbers}]|{others}", re.IGNORECASE)
