"""Members of a JSON object that is too large to parse: their positions, and single values."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, UInt8

from vtr_core.errors import InputError
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, StorageError

BLOCK = 2**24
"""Bytes of the file in memory at a time."""
_LONGEST_GAP = 2**16
"""Bytes between two values: a name, a colon and a comma."""
_AT_ONCE = 2**24
_QUOTE, _BACKSLASH, _OPEN, _CLOSE = b'"\\{}'
_MARK = "\ufeff".encode()
_NAMED = re.compile(rb'\s*([{,])\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Member:
    """A member whose value, an object, is the bytes from `begin` to `end` of the file."""

    name: str
    begin: int
    end: int


def members(location: Location) -> Iterator[Member]:
    """The members of the object in the file, in order, their values unread; a name may come twice.

    Raises InputError, naming the member, where a value is not an object; StorageError where the file ends too early or
    cannot be read, as `storage.read_json` does.
    """
    scan = _Scan(str(location))
    try:
        with location.filesystem.open_input_stream(location.path) as stream:
            while block := stream.read(BLOCK):
                yield from scan.feed(block)
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error
    scan.end()


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


@dataclass
class _Scan:
    """State of the scan after the bytes seen so far."""

    where: str
    position: int = 0
    """Position of the next block in the file."""
    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    """Whether the next byte follows a backslash that escapes it."""
    gap: bytes = b""
    """The bytes since the end of the last value."""
    separator: bytes = b"{"
    """The separator expected before the next name."""
    name: str = ""
    begin: int = 0
    closed: bool = field(default=False)

    def feed(self, block: bytes) -> Iterator[Member]:
        """The members whose values end in the next block of the file."""
        data, last = np.frombuffer(block, np.uint8), 0
        for place in self._braces(data).tolist():
            if block[place] == _OPEN:
                self.depth += 1
                if self.depth == 2:
                    self._begin(block[last:place], place)
                continue
            self.depth -= 1
            if self.depth == 1:
                yield Member(self.name, self.begin, self.position + place + 1)
                last = place + 1
            elif self.depth == 0:
                self._close(block[last:place])
                last = place + 1
            elif self.depth < 0:
                raise self._invalid("it has a brace too many")
        if self.depth < 2:
            self._look(self.gap + block[last:])
        self.position += len(block)

    def end(self) -> None:
        """End the scan; raises StorageError unless the object is complete."""
        if not self.closed and (self.depth or self.in_string or not self.gap.strip()):
            raise self._invalid(f"it ends within {self.name}" if self.name else "it ends too early")
        if not self.closed or self.gap.strip():
            raise self._of_another_form()

    def _begin(self, gap: bytes, place: int) -> None:
        gap = self._whole(gap)
        found = _NAMED.fullmatch(gap)
        if found is None or found[1] != self.separator or self.closed:
            raise self._of_another_form(gap)
        try:
            self.name = json.loads(found[2])
        except ValueError as error:
            raise self._invalid(str(error)) from error
        self.gap, self.separator, self.begin = b"", b",", self.position + place

    def _close(self, gap: bytes) -> None:
        nothing = b"" if self.separator == b"," else b"{"
        gap = self._whole(gap)
        if self.closed or gap.strip() != nothing:
            raise self._of_another_form(gap)
        self.gap, self.separator, self.closed = b"", b"", True

    def _whole(self, gap: bytes) -> bytes:
        """All since the last value, without the mark that may begin the file."""
        whole = self.gap + gap
        return whole.removeprefix(_MARK) if self.separator == b"{" else whole

    def _look(self, gap: bytes) -> None:
        self.gap = gap
        if len(gap) > _LONGEST_GAP:
            raise self._of_another_form(gap)

    def _braces(self, data: UInt8[np.ndarray, " bytes"]) -> Int64[np.ndarray, " braces"]:
        """The places of braces outside of strings."""
        quotes = np.flatnonzero(self._quotes(data))
        braces = np.flatnonzero((data == _OPEN) | (data == _CLOSE))
        inside = (np.searchsorted(quotes, braces) + self.in_string) % 2 == 1
        self.in_string = bool((len(quotes) + self.in_string) % 2)
        return braces[~inside]

    def _quotes(self, data: UInt8[np.ndarray, " bytes"]) -> Bool[np.ndarray, " bytes"]:
        """Where quotes are that begin or end strings: those not after an odd number of backslashes."""
        quotes, backslashes = data == _QUOTE, np.flatnonzero(data == _BACKSLASH)
        if self.escaped:
            quotes[0] = False
            backslashes = backslashes[backslashes > 0]
        first = np.diff(backslashes, prepend=-2) != 1
        ends = backslashes[np.append(first[1:], True)[: len(backslashes)]]
        after = ends[(ends - backslashes[first]) % 2 == 0] + 1
        self.escaped = bool(len(after) and after[-1] == len(data))
        quotes[after[: len(after) - self.escaped]] = False
        return quotes

    def _of_another_form(self, gap: bytes = b"") -> InputError:
        found = _NAMED.match(gap)
        named = f", {json.loads(found[2])}: it" if found else ""
        return InputError(f'{self.where}{named} must be an object of objects, {{"name": {{…}}, …}}')

    def _invalid(self, why: str) -> StorageError:
        return StorageError(f"{self.where} is not valid JSON ({why}); restore it or write it anew")
