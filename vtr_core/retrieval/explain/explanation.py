"""Explanations of hits: the tags of video and query, their contributions to the score, and the report of queries."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, assert_never

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.causality import causality_at_k
from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import Comparison
from vtr_core.embedding.video_ranking import Scoring, Space, VideoScores
from vtr_core.errors import ConfigError, InputError
from vtr_core.similarity import contributions

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
    texts = [tag.name if len(tag.name) <= _LONGEST else f"{tag.name[: _LONGEST - 1]}…" for tag in drawn]
    shares = [tag.value / drawn[0].value for tag in drawn]
    fitting = [_ROOM / (_ADVANCE * max(1, len(text))) for text in texts]
    largest = min([LARGEST, *(size / share for size, share in zip(fitting, shares, strict=True) if size >= SMALLEST)])
    return [
        SizedTag(tag, text, round(max(largest * share, SMALLEST), 2))
        for tag, text, share in zip(drawn, texts, shares, strict=True)
    ]


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


def explain_hits(
    positions: Int64[np.ndarray, " hits"],
    scores: VideoScores,
    video: Float[Tensor, "hits concepts"],
    text: Float[Tensor, " concepts"],
    scoring: Scoring,
    *,
    concepts: Sequence[str],
    video_ids: Sequence[str],
    right: Sequence[int],
    num_tags: int,
) -> tuple[HitExplanation, ...]:
    """Explanations of the videos at `positions`, best first.

    video, video_ids, text: transformed concept scores and ids of these videos, and scores of the query. scores: of all.
    Contributions and causality are shares of the total score: those of the concept similarity, times 1 − α under hybrid
    scoring.
    """
    assert scores.concept is not None, "only concepts explain"
    if not len(positions):
        return ()
    texts = text.expand_as(video)
    weight = scoring.concept_weight
    kind = scoring.transform.similarity
    shares = weight * contributions(video, texts, kind)
    few = causality_at_k(video, texts, FEW, kind, weight).values
    many = causality_at_k(video, texts, MANY, kind, weight).values
    hits = []
    for row, position in enumerate(positions.tolist()):
        columns = tag_columns(video[row], text, shares[row], kind, concepts, num_tags)
        hits.append(
            HitExplanation(
                rank=row + 1,
                video_id=video_ids[row],
                right=position in right,
                score=float(scores.total[position]),
                latent=None if scores.latent is None else float(scores.latent[position]),
                concept=float(scores.concept[position]),
                min_sum=float(torch.minimum(video[row], text).sum()) if kind == "jaccard" else None,
                max_sum=float(torch.maximum(video[row], text).sum()) if kind == "jaccard" else None,
                causality_few=float(few[row]),
                causality_many=float(many[row]),
                video=columns[0],
                query=columns[1],
                contributions=columns[2],
                shared=columns[3],
            )
        )
    return tuple(hits)


def tag_columns(
    video: Float[Tensor, " concepts"],
    text: Float[Tensor, " concepts"],
    shares: Float[Tensor, " concepts"],
    kind: Comparison,
    concepts: Sequence[str],
    num_tags: int,
) -> tuple[tuple[Tag, ...], tuple[Tag, ...], tuple[Tag, ...], tuple[Tag, ...]]:
    """Detections of the video, detections of the query, contributions and shared tags, at most `num_tags` each.

    A tag is matched where it is among the strongest of both. Detections are positive values. Under cosine and dot
    negative scores contribute as well: a concept that is negative in both raises the similarity and is shown with ¬
    (cosine), one of opposite signs lowers it.
    """
    strongest_video, strongest_text = strongest(video, num_tags), strongest(text, num_tags)
    matched = [i for i in strongest_text if i in set(strongest_video)]
    common = _in_common(video, text, kind)
    decimals = 1 if kind == "cosine" else 2

    def detected(values: Tensor, chosen: Sequence[int]) -> tuple[Tag, ...]:
        return tuple(
            Tag(concepts[i], float(values[i]), f"{float(values[i]):.{decimals}f}", i in matched) for i in chosen
        )

    contributing = tuple(
        Tag(
            name=f"¬{concepts[i]}" if kind == "cosine" and max(video[i], text[i]) < 0 else concepts[i],
            value=float(shares[i]),
            shown=percent(float(shares[i])),
            matched=i in matched,
            against=kind != "jaccard" and bool(video[i] * text[i] < 0),
        )
        for i in strongest(shares, num_tags)
    )
    shared = sorted(matched, key=lambda i: -float(common[i]))
    return detected(video, strongest_video), detected(text, strongest_text), contributing, detected(common, shared)


def strongest(values: Float[Tensor, " concepts"], count: int) -> list[int]:
    """The positions of the largest positive values, largest first, ties by position."""
    order = torch.argsort(-values, stable=True)[:count].tolist()
    return [i for i in order if values[i] > 0]


def _in_common(
    video: Float[Tensor, " concepts"], text: Float[Tensor, " concepts"], kind: Comparison
) -> Float[Tensor, " concepts"]:
    """jaccard: the smaller of the two. cosine, dot: their geometric mean where both are positive, else 0."""
    match kind:
        case "jaccard":
            return torch.minimum(video, text)
        case "cosine" | "dot":
            return (video.clamp(min=0) * text.clamp(min=0)).sqrt()
        case _:
            assert_never(kind)


def percent(share: float) -> str:
    """A share in %, with two significant digits."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %" if value >= 0.095 else f"{value:.2f} %"


LONGEST_QUERY = 1000
"""Greatest number of characters of a query."""


def parse_queries(content: bytes, where: str) -> list[tuple[str, str | None]]:
    """The lines "text" or "text<tab>video id", without empty ones; InputError for a file that is not UTF-8 or empty."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 ({error}); write one query in each line") from error
    pairs = (line.partition("\t") for line in lines)
    queries = [(text.strip(), video.strip() or None) for text, _, video in pairs if text.strip()]
    if not queries:
        raise InputError(f"{where} holds no query; write one in each line, or a query, a tab and the right video's id")
    return queries


def asked_queries(
    queries: Sequence[tuple[str, str | None]],
    video_ids: Sequence[str],
    captions: Sequence[str],
    caption_video: Sequence[int],
) -> list[AskedQuery]:
    """The queries with the positions of their relevant videos among `video_ids`.

    For a query given without a video, the relevant videos are those with exactly this caption. Raises InputError for
    unknown videos and for queries that are too long.
    """
    position = {video_id: i for i, video_id in enumerate(video_ids)}
    videos_of: dict[str, set[int]] = {}
    for text, video in zip(captions, caption_video, strict=True):
        videos_of.setdefault(text.strip(), set()).add(int(video))
    checked = []
    for text, video_id in queries:
        if len(text) > LONGEST_QUERY:
            raise InputError(f"the query {text[:60]!r} … has {len(text)} characters; {LONGEST_QUERY} are allowed")
        if video_id is not None and video_id not in position:
            raise InputError(f"the data set has no video {video_id!r} with features, which the query {text!r} names")
        right = videos_of.get(text, set()) if video_id is None else {position[video_id]}
        checked.append(AskedQuery(text, tuple(sorted(right))))
    return checked
