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
_AT_ONCE = 2**24
_MARK = "\ufeff".encode().decode("latin-1")
_NAMED = re.compile(r'\s*([{,])\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
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
    so that its positions are those of bytes; what delimits values is below 128, alike in UTF-8. Raises InputError,
    naming the member, where a value is not an object; StorageError where the file ends too early, is not valid or
    cannot be read, as `storage.read_json` does.
    """
    try:
        with location.filesystem.open_input_stream(location.path) as stream:
            yield from _members(str(location), iter(lambda: stream.read(BLOCK), b""))
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def _members(where: str, blocks: Iterator[bytes]) -> Iterator[Member]:
    """The members of a file that comes in blocks: `text` is what is left of it, from `begin` on."""
    text, begin, separator, name = "", 0, "{", ""
    for block in blocks:
        text += block.decode("latin-1")
        if separator == "{" and text.startswith(_MARK):
            text, begin = text[len(_MARK) :], begin + len(_MARK)
        position = 0
        while value := _value_at(where, text, position, separator):
            try:
                _, end = _DECODER.raw_decode(text, value)
            except (ValueError, RecursionError) as error:
                if len(text) - value > _LONGEST_VALUE:
                    raise _invalid(where, str(error)) from error
                break  # it may go on in the next block
            name = _name(where, text, position)
            yield Member(name, begin + value, begin + end)
            position, separator = end, ","
        text, begin = text[position:], begin + position
        if len(text) > _LONGEST_GAP and not _value_at(where, text, 0, separator):
            raise InputError(f"{where} {_FORM}")
    _check_end(where, text, separator, name)


def _value_at(where: str, text: str, position: int, separator: str) -> int | None:
    """Where the value after a name begins; None where no whole name follows. InputError for no object."""
    named = _NAMED.match(text, position)
    if named is None or named[1] != separator or named.end() == len(text):
        return None
    if text[named.end()] != "{":
        raise InputError(f"{where}, {_name(where, text, position)}: it {_FORM}")
    return named.end()


def _name(where: str, text: str, position: int) -> str:
    named = _NAMED.match(text, position)
    assert named is not None
    try:
        return str(json.loads(named[2].encode("latin-1"), strict=False))
    except ValueError as error:
        raise _invalid(where, str(error)) from error


def _check_end(where: str, rest: str, separator: str, name: str) -> None:
    """InputError or StorageError unless `rest`, after the last value, ends the object."""
    if rest.strip() == "}" if separator == "," else re.fullmatch(r"\s*{\s*}\s*", rest):
        return
    if value := _value_at(where, rest, 0, separator):
        name = _name(where, rest, 0)
        try:
            _DECODER.raw_decode(rest, value)
        except (ValueError, RecursionError) as error:
            if getattr(error, "pos", 0) < len(rest) and "Unterminated" not in str(error):
                raise StorageError(
                    f"{where}, {name}, is not valid JSON ({error}); restore it or write it anew"
                ) from error
    elif separator == "," and re.match(r"\s*}\s*}", rest):
        raise _invalid(where, "it has a brace too many")
    elif rest.strip().endswith("}") or (rest.strip() and rest.strip()[0] != ("{" if separator == "{" else ",")):
        raise InputError(f"{where} {_FORM}")
    raise _invalid(where, f"it ends within {name}" if name else "it ends too early")


def _invalid(where: str, why: str) -> StorageError:
    return StorageError(f"{where} is not valid JSON ({why}); restore it or write it anew")


def read_values(location: Location, wanted: Sequence[Member]) -> Iterator[Any]:
    """The values of some members, in the given order; those that follow each other in the file come with one reading.

    Raises StorageError where one is not valid JSON or cannot be read.
    """
    try:
        with location.filesystem.open_input_file(location.path) as file:
            for run in _runs(wanted):
                first = run[0].begin
                content = file.read_at(run[-1].end - first, first)
                for member in run:
                    yield _parsed(location, member, content[member.begin - first : member.end - first])
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def _parsed(location: Location, member: Member, content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError as error:
        what = f"{location}, {member.name}, is not valid JSON ({error})"
        raise StorageError(f"{what}; restore it or write it anew") from error


def _runs(wanted: Sequence[Member]) -> Iterator[list[Member]]:
    """The members in order, those together that are read at once."""
    run: list[Member] = []
    for member in wanted:
        follows = run and 0 <= member.begin - run[-1].end <= _LONGEST_GAP
        if run and not (follows and member.end - run[0].begin <= _AT_ONCE):
            yield run
            run = []
        run.append(member)
    if run:
        yield run
