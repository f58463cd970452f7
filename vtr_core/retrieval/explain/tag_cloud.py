"""Tag clouds: words with a size of their own. The browser puts them into lines, so none lies on another in any font."""

from collections.abc import Sequence
from dataclasses import dataclass

LARGEST, SMALLEST = 14.0, 5.3
"""Font sizes of the strongest tag, and of those too weak to be read at their own, in percent of the cloud's width."""
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
class SizedTag:
    """A tag as it is drawn: `text` is its name, cut where it is very long."""

    tag: Tag
    text: str
    size: float
    """Of the font, in percent of the cloud's width."""


def sized(tags: Sequence[Tag]) -> list[SizedTag]:
    """The tags from the strongest on.

    Font sizes are proportional to the values: LARGEST · value / strongest, but never below SMALLEST, at which a word
    can still be read. Ties stay in the given order. Tags without a positive value are not drawn.
    """
    drawn = sorted((tag for tag in tags if tag.value > 0), key=lambda tag: -tag.value)
    return [
        SizedTag(tag, _cut(tag.name), round(max(LARGEST * tag.value / drawn[0].value, SMALLEST), 2)) for tag in drawn
    ]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
