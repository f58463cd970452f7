"""Tag clouds: words with a size of their own, placed line by line, so that no two boxes overlap in any font."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 180.0
"""Of a cloud, in the units of the drawing."""
LARGEST, SMALLEST = 25.0, 9.5
"""Font sizes of the strongest tag, and of those too weak to be read at their own size."""
_LINE = 1.28
_BASELINE = 0.95
_GAP = 7.0
_NOTE, _NOTE_GAP = 8.5, 3.0
"""Size of the number beside a tag, and what is between them."""
_NARROW, _WIDE = frozenset("ijl.,:;'!|Iftr()[]/-"), frozenset("mwMWQO@%&")
_LONGEST = 40


@dataclass(frozen=True)
class Tag:
    """A word of a cloud."""

    name: str
    value: float
    """What the font size is proportional to."""
    shown: str
    """The value for people."""
    matched: bool = False
    """Whether it is strong in the video as well as in the query."""
    against: bool = False
    """Whether it lowers the similarity."""


@dataclass(frozen=True)
class PlacedTag:
    """A tag's box in the drawing, and where its text begins: x, and the baseline."""

    tag: Tag
    text: str
    x: float
    y: float
    width: float
    height: float
    font_size: float
    note_size: float
    note_x: float
    note_width: float
    text_width: float
    baseline: float


@dataclass(frozen=True)
class TagCloud:
    """A drawing of the size width × height. Every text is drawn exactly as wide as `text_width`, in whatever font."""

    width: float
    height: float
    tags: tuple[PlacedTag, ...]


@dataclass(frozen=True)
class _Sized:
    tag: Tag
    text: str
    font_size: float
    text_width: float
    note_size: float
    note_width: float

    @property
    def note_gap(self) -> float:
        return _NOTE_GAP * self.note_size / _NOTE

    @property
    def width(self) -> float:
        return self.text_width + (self.note_gap + self.note_width if self.note_width else 0.0)


def lay_out(tags: Sequence[Tag], width: float = WIDTH, with_values: bool = False) -> TagCloud:
    """The tags from the strongest on, in lines, each line centred; a function of its arguments alone.

    Font sizes are proportional to the values: LARGEST · value / strongest, but never below SMALLEST, at which a word
    can still be read, and never so large that a word is wider than the cloud. Ties stay in the given order. Tags
    without a positive value are not drawn. with_values: `shown` stands behind each tag, in smaller type.
    """
    drawn = sorted((tag for tag in tags if tag.value > 0), key=lambda tag: -tag.value)
    if not drawn:
        return TagCloud(width, 0.0, ())
    sized = [_sized(tag, drawn[0].value, width, with_values) for tag in drawn]
    placed: list[PlacedTag] = []
    y = 0.0
    for line in _lines(sized, width):
        height = _LINE * max(one.font_size for one in line)
        placed.extend(_place(line, y, width))
        y += height
    return TagCloud(width, round(y, 2), tuple(placed))


def _sized(tag: Tag, strongest: float, width: float, with_values: bool) -> _Sized:
    text = tag.name if len(tag.name) <= _LONGEST else f"{tag.name[: _LONGEST - 1]}…"
    size = max(LARGEST * tag.value / strongest, SMALLEST)
    sized = _Sized(tag, text, size, text_width(text) * size, _NOTE, text_width(tag.shown) * _NOTE * with_values)
    scale = min(1.0, width / sized.width)
    return _Sized(tag, text, *(scale * part for part in (size, sized.text_width, _NOTE, sized.note_width)))


def _lines(sized: Sequence[_Sized], width: float) -> list[list[_Sized]]:
    lines: list[list[_Sized]] = [[]]
    used = 0.0
    for one in sized:
        if lines[-1] and used + _GAP + one.width > width + 1e-9:
            lines.append([])
            used = 0.0
        used += one.width + (_GAP if lines[-1] else 0.0)
        lines[-1].append(one)
    return lines


def _place(line: Sequence[_Sized], y: float, width: float) -> list[PlacedTag]:
    """A line on a common baseline, centred."""
    x = (width - sum(one.width for one in line) - _GAP * (len(line) - 1)) / 2
    largest = max(one.font_size for one in line)
    baseline = y + _BASELINE * largest
    placed = []
    for one in line:
        top = baseline - _BASELINE * one.font_size
        placed.append(
            PlacedTag(
                tag=one.tag,
                text=one.text,
                x=round(x, 2),
                y=round(top, 2),
                width=round(one.width, 2),
                height=round(_LINE * one.font_size, 2),
                font_size=round(one.font_size, 2),
                note_size=round(one.note_size, 2),
                note_x=round(x + one.text_width + one.note_gap, 2),
                note_width=round(one.note_width, 2),
                text_width=round(one.text_width, 2),
                baseline=round(baseline, 2),
            )
        )
        x += one.width + _GAP
    return placed


def text_width(text: str) -> float:
    """The width of a text in a usual sans-serif font, in units of the font size; never 0."""
    return max(sum(map(_letter_width, text)), 0.3)


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Cf", "Cc", "Mn"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or unicodedata.category(letter) == "So":
        return 1.05
    if letter in _NARROW:
        return 0.33
    if letter in _WIDE:
        return 0.84
    return 0.68 if letter.isupper() else 0.58
