"""The content of a page of retrieved examples as plain values, for the page and for JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vtr_core.retrieval.explain.tag_cloud import Tag


@dataclass(frozen=True)
class ExampleHit:
    """A retrieved clip or video."""

    rank: int
    item_id: str
    video_id: str
    right: bool
    score: float
    caption: str | None
    start: float | None
    end: float | None
    units: Mapping[str, tuple[Tag, ...]] = field(default_factory=dict)
    """By modality, the units that respond most, of those that respond more than on average; matched where the query
    has them, too."""


@dataclass(frozen=True)
class ExampleAnswer:
    """What one model finds for one query."""

    right_rank: int | None
    hits: tuple[ExampleHit, ...]
    units: tuple[Tag, ...] = ()
    """The units that respond most to the query."""

    @property
    def has_units(self) -> bool:
        """Whether the model has units that respond, as capsules do."""
        return bool(self.units) or any(hit.units for hit in self.hits)


@dataclass(frozen=True)
class ComparedModel:
    """A model of the page."""

    checkpoint: str
    step: int
    similarity: str
    """By which its items are ranked."""
    title: str = ""

    def titled(self, title: str) -> "ComparedModel":
        """The model with its title on the page."""
        return replace(self, title=title)


@dataclass(frozen=True)
class ExampleQuery:
    """A query with the answers of all models."""

    text: str
    right: tuple[str, ...]
    answers: tuple[ExampleAnswer, ...]


@dataclass(frozen=True)
class ExampleReport:
    """The content of a page of examples."""

    data: str
    num_items: int
    models: tuple[ComparedModel, ...]
    queries: tuple[ExampleQuery, ...]

    @property
    def has_units(self) -> bool:
        """Whether any model has units that respond."""
        return any(answer.has_units for query in self.queries for answer in query.answers)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON, with field names as keys."""
        return asdict(self)
