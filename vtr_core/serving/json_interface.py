"""The JSON interface over HTTP: what may be asked, and what is answered; FastAPI checks the one and describes both."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field

from vtr_core.errors import InputError, one_line
from vtr_core.retrieval.explain.explanation import LONGEST_QUERY, HitExplanation, Tag, sized
from vtr_core.retrieval.search.filters import parse_conditions
from vtr_core.serving.engine import Column, Parameters, SearchQuery

DEFAULT_K, LARGEST_K, FURTHEST = 24, 100, 1000
"""Items of a page, at most, and of all pages of a query together."""
MOST_QUERIES, MOST_FILTERS = 32, 16
MOST_HITS = MOST_QUERIES * LARGEST_K
"""Hits that one request computes, those of earlier pages too."""

QueryText = Annotated[str, Query(alias="q", description="the query")]
PageSize = Annotated[int, Query(ge=1, le=LARGEST_K, description="hits of a page")]
Offset = Annotated[int, Query(ge=0, description=f"hits to leave out; with k at most {FURTHEST}")]
Filters = Annotated[
    Sequence[str],
    Query(
        alias="filter",
        max_length=MOST_FILTERS,
        description="a condition, any number of times; items meet all: column=value, or one of != ~ < <= > >= for =",
    ),
]


Scale = Annotated[float | None, Query(gt=0, allow_inf_nan=False, description="of concepts, for dual encoders (1)")]
Shift = Annotated[float | None, Query(allow_inf_nan=False, description="of concepts, before they are scaled (0)")]
Power = Annotated[float | None, Query(gt=0, allow_inf_nan=False, description="of concepts, thereafter (1)")]


class SearchBody(BaseModel):
    """The body of POST /api/search."""

    model_config = ConfigDict(extra="forbid", strict=True)

    queries: list[str] = Field(min_length=1, max_length=MOST_QUERIES)
    k: int = Field(DEFAULT_K, ge=1, le=LARGEST_K)
    offset: int = Field(0, ge=0)
    filter: list[Annotated[str, Field(max_length=LONGEST_QUERY)]] = Field([], max_length=MOST_FILTERS)


def queries(
    texts: Sequence[str], k: int, offset: int, conditions: Sequence[str], transform: Parameters | None = None
) -> list[SearchQuery]:
    """The queries of a request, each for its best hits up to the end of the page; InputError for what is too much."""
    if offset + k > FURTHEST:
        raise InputError(f"offset {offset} and k {k} go beyond the first {FURTHEST} hits")
    hits = len(texts) * (offset + k)
    if hits > MOST_HITS:
        raise InputError(
            f"{len(texts)} queries up to hit {offset + k} are {hits} hits; at most {MOST_HITS} are allowed, ask fewer"
        )
    filters = parse_conditions(list(conditions))
    for text in texts:
        if not text.strip():
            raise InputError("the query is empty; say what the video shows")
        if len(text.strip()) > LONGEST_QUERY:
            raise InputError(f"the query has {len(text.strip())} characters; {LONGEST_QUERY} are allowed")
    return [SearchQuery(text.strip(), offset + k, filters, transform) for text in texts]


def parameters(scale: float | None, shift: float | None, power: float | None) -> Parameters | None:
    """The transform of a request; None where no part of it is given."""
    if (scale, shift, power) == (None, None, None):
        return None
    return 1.0 if scale is None else scale, shift or 0.0, 1.0 if power is None else power


def refused(error: Exception) -> str:
    """What is wrong with a request that FastAPI refuses, in one line: where, why, and what was given."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"][1:])) if first["type"] != "json_invalid" else ""
    value = first.get("input")
    shown = f", not {value[:100]!r}" if isinstance(value, str) else ""
    return one_line(f"{where or 'the body'}: {first['msg']}{shown}")


class Error(BaseModel):
    """Why a request was not answered."""

    error: str


class Moment(BaseModel):
    """A video, or a clip of one."""

    item_id: str
    video_id: str
    start: float | None
    end: float | None
    caption: str | None = Field(description="the first caption of the item in the data set")
    metadata: dict[str, str]
    when: str = Field(description="the time span, for display; empty where unknown")


class Share(BaseModel):
    """A concept of a hit, with its share of the score."""

    name: str
    share: float


class FoundItem(Moment):
    """An item that was found."""

    rank: int
    score: float
    latent: float | None
    concept: float | None
    tags: list[Share]


class Answer(BaseModel):
    """The hits of a query."""

    query: str
    not_known: list[str] = Field(description="words of the query that the model does not know")
    scoring: str
    offset: int
    num_items: int = Field(description="items that pass the filters")
    next_offset: int | None
    hits: list[FoundItem]


class Answers(BaseModel):
    """The hits of several queries."""

    answers: list[Answer]


class CloudTag(BaseModel):
    """A concept of a cloud, with its size on a page."""

    name: str
    value: float
    shown: str
    matched: bool
    against: bool
    text: str
    size: float


def cloud(tags: Sequence[Tag]) -> list[CloudTag]:
    """The tags as drawn."""
    return [CloudTag(**vars(drawn.tag), text=drawn.text, size=drawn.size) for drawn in sized(tags)]


class Why(BaseModel):
    """The concepts that made an item's score."""

    score: float
    latent: float | None
    concept: float
    causality_few: float = Field(description="C@10: how much of the score ten concepts make")
    causality_many: float = Field(description="C@30")
    video: list[CloudTag]
    query: list[CloudTag]
    contributions: list[CloudTag]
    shared: list[CloudTag]

    @classmethod
    def of(cls, hit: HitExplanation) -> "Why":
        """The concepts of an explained hit."""
        clouds = {name: cloud(getattr(hit, name)) for name in ("video", "query", "contributions", "shared")}
        return cls(**{name: value for name, value in vars(hit).items() if name in cls.model_fields} | clouds)


class ItemAnswer(Moment):
    """An item and, given a query, why it is found."""

    why: Why | None


class Columns(BaseModel):
    """What can be filtered by."""

    columns: tuple[Column, ...]


class Health(BaseModel):
    """That the server answers."""

    status: str
    num_items: int
