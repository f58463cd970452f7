"""What an explanation says, as plain values: the same for the page and for its JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.analysis.transforms import Transform
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.tag_cloud import Tag
from vtr_core.retrieval.search.search import Space

FEW, MANY = 10, 30
"""C@10 and C@30: as many tags as a person reads at a glance, and as many as a person reads at all."""


@dataclass(frozen=True)
class ExplainOptions:
    """How much is shown."""

    hits: int = 5
    tags: int = FEW

    def __post_init__(self) -> None:
        for name, value, largest in (("k", self.hits, 1000), ("tags", self.tags, MANY)):
            if not 1 <= value <= largest:
                raise ConfigError(f"--{name} is {value}; it must be from 1 to {largest}")


@dataclass(frozen=True)
class AskedQuery:
    """A query as it was given, and the videos that it is a caption of, by position; none where that is not known."""

    text: str
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class HitExplanation:
    """A video that was found, and why. Causality is that of the whole decision, latent space included."""

    rank: int
    video_id: str
    right: bool
    score: float
    latent: float | None
    concept: float
    min_sum: float | None
    """Σ min and Σ max, whose quotient a generalised Jaccard is; None for a cosine."""
    max_sum: float | None
    causality_few: float
    causality_many: float
    video: tuple[Tag, ...]
    """The strongest detections of the video."""
    query: tuple[Tag, ...]
    """The strongest detections of the query."""
    contributions: tuple[Tag, ...]
    """The largest shares of the decision."""
    shared: tuple[Tag, ...]
    """The tags of both first columns, by the value that they have in common."""


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
    """The model under one transform, and the causality of its hits: mean and standard deviation over the page."""

    title: str
    transform: Transform
    causality_few: tuple[float, float]
    causality_many: tuple[float, float]
    num_hits: int


@dataclass(frozen=True)
class ExplainReport:
    """A page: a set of queries, answered by the model as it is and perhaps by an improved one."""

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
        """The share of the concepts in the decision."""
        return 1 - self.latent_weight if self.space == "hybrid" else 1.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON, with its parts by name."""
        return {**asdict(self), "concept_weight": self.concept_weight}


def described(transform: Transform) -> str:
    """A transform for people."""
    values = f"a = {transform.scale:g}, b = {transform.shift:g}, p = {transform.power:g}"
    return f"as trained ({values})" if transform.is_identity else values
