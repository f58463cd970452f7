"""Queries as they are asked over HTTP, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import QueryParams

from vtr_core.errors import InputError
from vtr_core.retrieval.explain.queries import LONGEST_QUERY
from vtr_core.retrieval.search.filters import Condition, parse_conditions

DEFAULT_K, LARGEST_K, FURTHEST = 24, 100, 1000
"""Items of a page, at most, and of all pages of a query together."""
MOST_QUERIES = 32


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

    furthest = FURTHEST

    def __post_init__(self) -> None:
        if not self.text:
            raise InputError("the query is empty; say what the video shows")
        if len(self.text) > LONGEST_QUERY:
            raise InputError(f"the query has {len(self.text)} characters; {LONGEST_QUERY} are allowed")
        if self.offset + self.k > FURTHEST:
            raise InputError(f"offset {self.offset} and k {self.k} go beyond the first {FURTHEST} hits")


def in_query(given: QueryParams) -> Question:
    """The question of an address: q, k, offset, and filter=condition any number of times."""
    body = _checked(
        {
            "queries": [given.get("q", "")],
            "k": _whole(given, "k", DEFAULT_K),
            "offset": _whole(given, "offset", 0),
            "filter": given.getlist("filter"),
        }
    )
    return Question(body.queries[0].strip(), body.k, body.offset, parse_conditions(body.filter))


def in_body(content: bytes) -> list[Question]:
    """The questions of a body, of which all are asked for the same hits."""
    try:
        body = SearchBody.model_validate_json(content)
    except ValidationError as error:
        raise _fault(error) from error
    filters = parse_conditions(body.filter)
    return [Question(text.strip(), body.k, body.offset, filters) for text in body.queries]


def _whole(given: QueryParams, name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InputError(f"{name} is {text!r}; it must be a whole number")
    return int(text)


def _checked(values: Mapping[str, Any]) -> SearchBody:
    try:
        return SearchBody.model_validate(values)
    except ValidationError as error:
        raise _fault(error) from error


def _fault(error: ValidationError) -> InputError:
    first = error.errors()[0]
    return InputError(f"{'.'.join(map(str, first['loc'])) or 'the body'}: {first['msg']}")
