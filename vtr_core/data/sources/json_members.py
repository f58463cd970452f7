"""Members of a JSON object that is too large to keep in memory: their positions, and single values."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vtr_core.errors import InputError
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, StorageError

BLOCK = 2**24
"""Bytes of the file that are read at a time."""
_LONGEST_VALUE = 2**28
_LONGEST_GAP = 2**16
"""Bytes between two values: a name, a colon and a comma."""
_LARGEST_READ = 2**24
_MARK = "\ufeff".encode().decode("latin-1")
_NAME = re.compile(r'\s*([{,])\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_FORM = 'must be an object of objects, {"name": {…}, …}'


@dataclass(frozen=True, slots=True)
class Member:
    """A member whose value, an object, is the bytes from `begin` to `end` of the file."""

    name: str
    begin: int
    end: int


def members(location: Location) -> Iterator[Member]:
    """The members of the object in the file, in order, their values unread; a name may come twice.

    Python's parser runs over each value, 97 MB a core-second. It sees the file as Latin-1, where a byte is a character,
    so that its positions are those of bytes; what delimits values is below 128, alike in UTF-8. Raises InputError
    for a file of another form, naming the member where a value is not an object; StorageError where the file ends too
    early, is not valid or cannot be read, as `storage.read_json` does.
    """
    try:
        with location.filesystem.open_input_stream(location.path) as stream:
            yield from _members(str(location), iter(lambda: stream.read(BLOCK), b""))
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def _members(where: str, blocks: Iterator[bytes]) -> Iterator[Member]:
    """The members of a file that comes in blocks: `text` is what is left of it, from `begin` on."""
    text, begin, separator = "", 0, "{"
    for block in blocks:
        text += block.decode("latin-1")
        if separator == "{" and text.startswith(_MARK):
            text, begin = text[len(_MARK) :], begin + len(_MARK)
        position = 0
        while (match := _NAME.match(text, position)) and match[1] == separator and match.end() < len(text):
            name = _name(where, match[2])
            if text[match.end()] != "{":
                raise InputError(f"{where}, {name}: it {_FORM}")
            try:
                _, position = _DECODER.raw_decode(text, match.end())
            except (ValueError, RecursionError) as error:
                if len(text) - match.end() > _LONGEST_VALUE:
                    raise _invalid(where, str(error)) from error
                break  # it may go on in the next block
            yield Member(name, begin + match.end(), begin + position)
            separator = ","
        text, begin = text[position:], begin + position
        if len(text) > _LONGEST_GAP and not _NAME.match(text):
            raise InputError(f"{where} {_FORM}")
    if not re.fullmatch(r"\s*}\s*" if separator == "," else r"\s*{\s*}\s*", text):
        if text.strip()[:1] not in ("", separator, "}"):
            raise InputError(f"{where} {_FORM}")
        raise _invalid(where, f"it ends with {text.strip()[-40:]!r}")


def _name(where: str, literal: str) -> str:
    try:
        return str(json.loads(literal.encode("latin-1"), strict=False))
    except ValueError as error:
        raise _invalid(where, str(error)) from error


def _invalid(where: str, reason: str) -> StorageError:
    return StorageError(f"{where} is not valid JSON ({reason}); restore it or write it anew")


def read_values(location: Location, chosen: Sequence[Member]) -> Iterator[Any]:
    """The values of some members, in the given order; those that follow each other in the file come with one reading.

    Raises StorageError where one is not valid JSON or cannot be read.
    """
    try:
        with location.filesystem.open_input_file(location.path) as file:
            for run in _runs(chosen):
                first = run[0].begin
                content = file.read_at(run[-1].end - first, first)
                for member in run:
                    try:
                        yield parse_json(content[member.begin - first : member.end - first])
                    except ValueError as error:
                        raise _invalid(f"{location}, {member.name},", str(error)) from error
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def _runs(chosen: Sequence[Member]) -> Iterator[list[Member]]:
    """The members in order, those together that are read at once."""
    run: list[Member] = []
    for member in chosen:
        follows = run and 0 <= member.begin - run[-1].end <= _LONGEST_GAP
        if run and not (follows and member.end - run[0].begin <= _LARGEST_READ):
            yield run
            run = []
        run.append(member)
    if run:
        yield run
