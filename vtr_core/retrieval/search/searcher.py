"""What every search of an index offers, whatever the kind of model: its options, its hits, and their links."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
from jaxtyping import Int64

from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.embedding.video_ranking import Normalise, Space
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.explanation import HitExplanation, Tag
from vtr_core.retrieval.index.candidates import default_candidates
from vtr_core.retrieval.index.items import Item
from vtr_core.retrieval.index.record import Backend
from vtr_core.text.tokens.vocabulary import Vocabulary


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


_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEPT = ("url", "link")
_SCHEMES = ("http://", "https://")


def link_of(hit: Hit, template: str | None) -> str | None:
    """The link of a hit; None where none is known.

    template: an address with names in braces, {item_id}, {video_id}, {start}, {end} in whole seconds (0 where unknown),
    or a kept column, whose values are quoted; None takes the kept column `url` or `link` where it is an address of
    http(s). InputError for a name that the hit does not have.
    """
    if template is None:
        kept = (hit.metadata.get(name, "") for name in _KEPT)
        return next((link for link in kept if link.startswith(_SCHEMES)), None)
    values = {
        **hit.metadata,
        "item_id": hit.item_id,
        "video_id": hit.video_id,
        "start": str(int(hit.start or 0)),
        "end": str(int(hit.end or 0)),
    }

    def value(name: re.Match[str]) -> str:
        if name[1] not in values:
            raise InputError(f"--link {template}: there is no {{{name[1]}}}; names are {', '.join(sorted(values))}")
        return quote(values[name[1]], safe="")

    return _NAME.sub(value, template)


NUM_TAGS = 5
"""Concepts that a hit lists."""


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; None is the default of model and index."""

    space: Space | None = None
    latent_weight: float | None = None
    normalise: Normalise = "query"
    transform: Transform | None = None
    candidates: int | None = None

    def num_candidates(self, backend: Backend) -> int:
        """How many candidates of an index of this kind are ranked."""
        return default_candidates(backend) if self.candidates is None else self.candidates


class Searcher(ABC):
    """An index with the model that embeds queries."""

    description: str
    """A description of the scoring."""
    vocabulary: Vocabulary
    """The words of the model: which ones of a query it does not know."""

    @abstractmethod
    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """The k best items for each query, best first; None for a query without a known word.

        among: ascending positions of the items that may be found (None: all); they are searched without a graph of
        candidates. Scores do not depend on it.
        """

    comparison: ConceptSimilarity | None = None
    """By which concepts are compared; None for a model without a concept space, or a search that leaves it out."""

    def transformed(self, scale: float, shift: float, power: float) -> "Searcher":  # noqa: ARG002
        """The same search with concepts under another transform; InputError for a search without concepts."""
        raise InputError("the index is searched in one space, without concepts that a transform could change")

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:  # noqa: ARG002
        """Why an item is found; None for a model without concepts and for a text without a known word."""
        return None
