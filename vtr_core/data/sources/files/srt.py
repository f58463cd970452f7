"""SubRip files (.srt): numbered blocks of a time line and a text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BETWEEN = re.compile(r"\s*-->\s*")
_TIME = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?")


@dataclass(frozen=True)
class Subtitle:
    """A text from `start` to `end`, in seconds as written; `line` of the file is its time line, counted from 1."""

    line: int
    start: float
    end: float
    text: str


@dataclass(frozen=True)
class BadLine:
    """A malformed line, with the reason."""

    line: int
    what: str


def parse_srt(content: str) -> Iterator[Subtitle | BadLine]:
    """The blocks of a file in order. Blank lines part them; the number before a time line may be missing.

    A block without a time line, or without a text, is a BadLine. A text of several lines is joined by spaces.
    """
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        if line.strip():
            block.append((number, line.strip()))
        elif block:
            yield _parse_block(block)
            block = []


def _parse_block(block: list[tuple[int, str]]) -> Subtitle | BadLine:
    rest = block[1:] if block[0][1].isdigit() else block
    if not rest:
        return BadLine(block[0][0], f"the block {block[0][1]!r} is empty")
    number, times = rest[0]
    span = [_seconds(part) for part in _BETWEEN.split(times)]
    if len(span) != 2 or span[0] is None or span[1] is None:
        return BadLine(number, f"{times[:80]!r} is not a time line, as in 00:00:01,500 --> 00:00:04,000")
    text = " ".join(line for _, line in rest[1:])
    if not text:
        return BadLine(number, f"there is no text after {times!r}")
    return Subtitle(number, span[0], span[1], text)


def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups()
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + float(f"0.{fraction or 0}")
