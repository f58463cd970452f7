"""A hit of a search, with what it tells of its item."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vtr_core.retrieval.explain.tag_cloud import Tag
from vtr_core.retrieval.index.items import Item


@dataclass(frozen=True)
class Hit:
    """A hit of a search; the score is None in a space that was not searched or that the model lacks."""

    rank: int
    item_id: str
    video_id: str
    score: float
    latent: float | None = None
    concept: float | None = None
    tags: tuple[Tag, ...] = ()
    """The concepts that contribute most, with their shares of the total score."""
    start: float | None = None
    end: float | None = None
    """Start and end of a clip in its video, in seconds; None where unknown."""
    caption: str | None = None
    """The first caption of the item in the data set."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The texts of the columns that ingest kept."""

    def to_json(self) -> dict[str, Any]:
        """The hit as JSON; a tag consists of name and share."""
        return {**vars(self), "tags": [{"name": tag.name, "share": tag.value} for tag in self.tags]}


def hit_of(
    rank: int,
    item: Item,
    score: float,
    latent: float | None = None,
    concept: float | None = None,
    tags: tuple[Tag, ...] = (),
) -> Hit:
    """The hit of an item."""
    told = item.caption, item.metadata
    return Hit(rank, item.item_id, item.video_id, score, latent, concept, tags, item.start, item.end, *told)
