"""The JSON interface over HTTP: what may be asked, and what is answered; FastAPI checks the one and describes both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field

from vtr_core.errors import InputError, one_line
from vtr_core.retrieval.explain.explanation import LONGEST_QUERY
from vtr_core.retrieval.search.filters import Condition, parse_conditions
from vtr_core.serving.engine import Parameters

DEFAULT_K, LARGEST_K, FURTHEST = 24, 100, 1000
"""Items of a page, at most, and of all pages of a query together."""
MOST_QUERIES = 32

QueryText = Annotated[str, Query(alias="q", description="the query")]
PageSize = Annotated[int, Query(ge=1, le=LARGEST_K, description="hits of a page")]
Offset = Annotated[int, Query(ge=0, description=f"hits to leave out; with k at most {FURTHEST}")]
Filters = Annotated[
    Sequence[str],
    Query(
        alias="filter",
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
    filter: list[str] = []


@dataclass(frozen=True)
class Question:
    """A query, and which of its hits are wanted."""

    text: str
    k: int
    offset: int
    filters: tuple[Condition, ...]
    transform: Parameters | None = None

    furthest = FURTHEST

    def __post_init__(self) -> None:
        if not self.text:
            raise InputError("the query is empty; say what the video shows")
        if len(self.text) > LONGEST_QUERY:
            raise InputError(f"the query has {len(self.text)} characters; {LONGEST_QUERY} are allowed")
        if self.offset + self.k > FURTHEST:
            raise InputError(f"offset {self.offset} and k {self.k} go beyond the first {FURTHEST} hits")


def questions(
    texts: Sequence[str], k: int, offset: int, conditions: Sequence[str], transform: Parameters | None = None
) -> list[Question]:
    """The questions of a request, of which all are asked for the same hits."""
    filters = parse_conditions(list(conditions))
    return [Question(text.strip(), k, offset, filters, transform) for text in texts]


def parameters(scale: float | None, shift: float | None, power: float | None) -> Parameters | None:
    """The transform of a request; None where no part of it is given."""
    if (scale, shift, power) == (None, None, None):
        return None
    return 1.0 if scale is None else scale, shift or 0.0, 1.0 if power is None else power


def refused(error: RequestValidationError) -> str:
    """What is wrong with a request, in one line: where, why, and what was given."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"][1:])) if first["type"] != "json_invalid" else ""
    given = first.get("input")
    shown = f", not {given[:100]!r}" if isinstance(given, str) else ""
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


class ItemAnswer(Moment):
    """An item and, given a query, why it is found."""

    why: Why | None


class Column(BaseModel):
    """A column that can be filtered by, with its values where they are few."""

    name: str
    values: list[str] | None


class Columns(BaseModel):
    """What can be filtered by."""

    columns: list[Column]


class Health(BaseModel):
    """That the server answers."""

    status: str
    num_items: int
