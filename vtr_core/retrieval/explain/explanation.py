"""The content of an explanation as plain values: queries, hits, and tags with sizes by their value."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.analysis.transforms import Transform
from vtr_core.embedding.video_ranking import Space
from vtr_core.errors import ConfigError, InputError

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


LONGEST_QUERY = 1000
"""Greatest number of characters of a query."""


def parse_queries(content: bytes, where: str) -> list[tuple[str, str | None]]:
    """The lines "text" or "text<tab>video id", without empty ones; InputError for a file that is not UTF-8 or empty."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 ({error}); write one query in each line") from error
    found = []
    for line in lines:
        text, tab, video = line.partition("\t")
        if text.strip():
            found.append((text.strip(), video.strip() if tab and video.strip() else None))
    if not found:
        raise InputError(f"{where} holds no query; write one in each line, or a query, a tab and the right video's id")
    return found


def asked_queries(
    given: Sequence[tuple[str, str | None]],
    video_ids: Sequence[str],
    captions: Sequence[str],
    caption_video: Sequence[int],
) -> list[AskedQuery]:
    """The queries with the positions of their relevant videos among `video_ids`.

    For a query given without a video, the relevant videos are those with exactly this caption. Raises InputError for
    unknown videos and for queries that are too long.
    """
    position = {video_id: i for i, video_id in enumerate(video_ids)}
    carried: dict[str, set[int]] = {}
    for text, video in zip(captions, caption_video, strict=True):
        carried.setdefault(text.strip(), set()).add(int(video))
    found = []
    for text, wanted in given:
        if len(text) > LONGEST_QUERY:
            raise InputError(f"the query {text[:60]!r} … has {len(text)} characters; {LONGEST_QUERY} are allowed")
        if wanted is not None and wanted not in position:
            raise InputError(f"the data set has no video {wanted!r} with features, which the query {text!r} names")
        right = carried.get(text, set()) if wanted is None else {position[wanted]}
        found.append(AskedQuery(text, tuple(sorted(right))))
    return found
