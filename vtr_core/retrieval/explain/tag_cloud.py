"""Tag clouds: words with font sizes by value, laid out in lines by the browser, so that they never overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

LARGEST, SMALLEST = 14.0, 5.3
"""Largest and smallest (still readable) font size, in percent of the cloud's width."""
_LONGEST = 40
_ROOM, _ADVANCE = 76.0, 0.56
"""Width of a line for a name, in percent of the cloud's: the rest is for its value. Mean width of a letter, in em."""


@dataclass(frozen=True)
class Tag:
    """A word of a cloud."""

    name: str
    value: float
    """The value to which the font size is proportional."""
    shown: str
    """The value as displayed."""
    matched: bool = False
    """Whether the tag is among the strongest of both video and query."""
    against: bool = False
    """Whether the tag lowers the similarity."""


@dataclass(frozen=True)
class SizedTag:
    """A tag as drawn: `text` is its name, shortened if very long."""

    tag: Tag
    text: str
    size: float
    """Font size in percent of the cloud's width."""


def sized(tags: Sequence[Tag]) -> list[SizedTag]:
    """The tags with font sizes, strongest first.

    The font size is max(SMALLEST, largest · value / strongest), where largest is LARGEST, or as much less as it takes
    for every name to fit into a line: a browser would tear `talking/verb` after its slash. Names that do not fit at the
    smallest size do not count. Ties keep the given order. Tags without a positive value are not drawn.
    """
    drawn = sorted((tag for tag in tags if tag.value > 0), key=lambda tag: -tag.value)
    shares = [tag.value / drawn[0].value for tag in drawn]
    texts = [_cut(tag.name) for tag in drawn]
    fitting = [(_fitting(text), share) for text, share in zip(texts, shares, strict=True)]
    largest = min([LARGEST, *(size / share for size, share in fitting if size >= SMALLEST)])
    return [
        SizedTag(tag, text, round(max(largest * share, SMALLEST), 2))
        for tag, text, share in zip(drawn, texts, shares, strict=True)
    ]


def _fitting(text: str) -> float:
    """The largest font size at which a text fits into a line, in percent of the cloud's width."""
    return _ROOM / (_ADVANCE * max(1, len(text)))


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
