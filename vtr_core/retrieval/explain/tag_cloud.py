"""Tag clouds: words with font sizes by value, laid out in lines by the browser, so that they never overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

LARGEST, SMALLEST = 14.0, 5.3
"""Largest and smallest (still readable) font size, in percent of the cloud's width."""
_LONGEST = 40


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

    The font size is max(SMALLEST, LARGEST · value / strongest). Ties keep the given order. Tags without a positive
    value are not drawn.
    """
    drawn = sorted((tag for tag in tags if tag.value > 0), key=lambda tag: -tag.value)
    return [
        SizedTag(tag, _cut(tag.name), round(max(LARGEST * tag.value / drawn[0].value, SMALLEST), 2)) for tag in drawn
    ]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
