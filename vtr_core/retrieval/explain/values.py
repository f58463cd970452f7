"""The content of an explanation as plain values, for the page and for JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.analysis.transforms import Transform
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.tag_cloud import Tag
from vtr_core.retrieval.search.search import Space

FEW, MANY = 10, 30
"""The k of C@k: the numbers of tags that a person reads at a glance, and at most."""


@dataclass(frozen=True)
class ExplainOptions:
    """Numbers of hits and tags shown."""

    hits: int = 5
    tags: int = FEW

    def __post_init__(self) -> None:
        for name, value, largest in (("k", self.hits, 1000), ("tags", self.tags, MANY)):
            if not 1 <= value <= largest:
                raise ConfigError(f"--{name} is {value}; it must be from 1 to {largest}")


@dataclass(frozen=True)
class AskedQuery:
    """A query as given, and the positions of its relevant videos; none where unknown."""

    text: str
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class HitExplanation:
    """A retrieved video with its explanation. Causality is relative to the total score, latent space included."""

    rank: int
    video_id: str
    right: bool
    score: float
    latent: float | None
    concept: float
    min_sum: float | None
    """Σ min and Σ max, whose quotient is the generalised Jaccard similarity; None for cosine."""
    max_sum: float | None
    causality_few: float
    causality_many: float
    video: tuple[Tag, ...]
    """The strongest detections of the video."""
    query: tuple[Tag, ...]
    """The strongest detections of the query."""
    contributions: tuple[Tag, ...]
    """The tags with the largest shares of the total score."""
    shared: tuple[Tag, ...]
    """The tags of both video and query, by their common value."""


@dataclass(frozen=True)
class Answer:
    """The best videos of one query under one transform."""

    right_rank: int | None
    hits: tuple[HitExplanation, ...]


@dataclass(frozen=True)
class QueryExplanation:
    """A query and its answers, one for each system of the report."""

    text: str
    right_videos: tuple[str, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class System:
    """A model under one transform, with mean and standard deviation of the causality of its hits on the page."""

    title: str
    step: int
    num_concepts: int
    concept_weight: float
    """The weight of the concept similarity in the total score; 1 where no latent space takes part."""
    transform: Transform
    causality_few: tuple[float, float]
    causality_many: tuple[float, float]
    num_hits: int


@dataclass(frozen=True)
class ExplainReport:
    """The content of a page: queries answered by the model and, optionally, under an improved transform."""

    checkpoint: str
    preset: str
    step: int
    data: str
    num_videos: int
    num_concepts: int
    space: Space
    latent_weight: float
    options: ExplainOptions
    systems: tuple[System, ...]
    queries: tuple[QueryExplanation, ...]

    @property
    def concept_weight(self) -> float:
        """The weight of the concept similarity in the total score."""
        return 1 - self.latent_weight if self.space == "hybrid" else 1.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON, with field names as keys."""
        return {**asdict(self), "concept_weight": self.concept_weight}


def described(transform: Transform) -> str:
    """A transform as displayed."""
    if transform.similarity == "dot":
        return "zero-shot"
    values = f"a = {transform.scale:g}, b = {transform.shift:g}, p = {transform.power:g}"
    return f"as trained ({values})" if transform.is_identity else values
