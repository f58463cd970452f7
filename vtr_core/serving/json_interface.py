"""The JSON interface over HTTP: queries as they are asked, checked, and the description as OpenAPI 3.1."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import QueryParams

from vtr_core.errors import InputError
from vtr_core.retrieval.explain.explanation import LONGEST_QUERY
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


_TEXT, _NUMBER, _WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def _maybe(kind: dict[str, Any]) -> dict[str, Any]:
    return {"type": [kind["type"], "null"]}


def _record(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _known(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_ITEM = {
    "item_id": _TEXT,
    "video_id": _TEXT,
    "start": _maybe(_NUMBER),
    "end": _maybe(_NUMBER),
    "when": {**_TEXT, "description": "the time span, for display; empty where unknown"},
    "caption": {**_maybe(_TEXT), "description": "the first caption of the item in the data set"},
    "metadata": {"type": "object", "additionalProperties": _TEXT},
}
_CLOUD = _list(_record(name=_TEXT, value=_NUMBER, shown=_TEXT, matched={"type": "boolean"}, text=_TEXT, size=_NUMBER))
_SCHEMAS = {
    "Error": _record(error=_TEXT),
    "Hit": _record(
        rank=_WHOLE,
        score=_NUMBER,
        latent=_maybe(_NUMBER),
        concept=_maybe(_NUMBER),
        tags=_list(_record(name=_TEXT, share=_NUMBER)),
        **_ITEM,
    ),
    "Answer": _record(
        query=_TEXT,
        not_known={**_list(_TEXT), "description": "words of the query that the model does not know"},
        scoring=_TEXT,
        offset=_WHOLE,
        num_items={**_WHOLE, "description": "items that pass the filters"},
        next_offset=_maybe(_WHOLE),
        hits=_list(_known("Hit")),
    ),
    "Why": _record(
        score=_NUMBER,
        latent=_maybe(_NUMBER),
        concept=_NUMBER,
        video=_CLOUD,
        query=_CLOUD,
        contributions=_CLOUD,
        shared=_CLOUD,
    ),
    "Item": _record(**_ITEM, why={"oneOf": [_known("Why"), {"type": "null"}]}),
    "Columns": _record(columns=_list(_record(name=_TEXT, values={"type": ["array", "null"], "items": _TEXT}))),
    "Health": _record(status={"const": "ok"}, num_items=_WHOLE),
    "SearchBody": SearchBody.model_json_schema(),
}
_FAULTS = {
    400: "what is asked for is not possible",
    401: "the token is missing or wrong",
    403: "the server is not called by this name",
    413: "the body is too large",
    429: "too many requests; Retry-After says when",
}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _operation(
    summary: str, schema: dict[str, Any], *parameters: dict[str, Any], faults: tuple[int, ...] = (401, 403)
) -> dict[str, Any]:
    refused = {
        str(code): {"description": text, "content": _json(_known("Error"))}
        for code, text in {**_FAULTS, 404: "there is no such item"}.items()
        if code in faults
    }
    answered = {"200": {"description": summary, "content": _json(schema)}}
    return {"summary": summary, "parameters": list(parameters), "responses": {**answered, **refused}}


def _given(
    name: str, schema: dict[str, Any], description: str, where: str = "query", required: bool = False
) -> dict[str, Any]:
    return {"name": name, "in": where, "required": required, "schema": schema, "description": description}


_PAGE = (
    _given("k", {**_WHOLE, "minimum": 1, "maximum": LARGEST_K, "default": DEFAULT_K}, "hits of a page"),
    _given("offset", {**_WHOLE, "minimum": 0, "default": 0}, f"hits to leave out; with k at most {FURTHEST}"),
    _given(
        "filter",
        _list(_TEXT),
        "a condition, any number of times; items meet all: column=value, or one of != ~ < <= > >= for =",
    ),
)
_QUERY = _given("q", _TEXT, "the query", required=True)
_ASKING = (400, 401, 403, 413, 429)

OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "vtr serve", "version": "1", "description": "Search of videos by text."},
    "paths": {
        "/api/search": {
            "get": _operation("the best items for a query", _known("Answer"), _QUERY, *_PAGE, faults=_ASKING),
            "post": {
                **_operation("the best items for several queries", _record(answers=_list(_known("Answer")))),
                "requestBody": {"required": True, "content": _json(_known("SearchBody"))},
            },
        },
        "/api/items/{item_id}": {
            "get": _operation(
                "an item and, given a query, why it is found",
                _known("Item"),
                _given("item_id", _TEXT, "the item", "path", required=True),
                _given("q", _TEXT, "the query that is explained"),
                faults=(400, 401, 403, 404, 429),
            )
        },
        "/api/columns": {"get": _operation("what can be filtered by", _known("Columns"))},
        "/api/health": {"get": _operation("whether the server answers; needs no token", _known("Health"), faults=())},
    },
    "components": {
        "schemas": _SCHEMAS,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "with --token alone"}},
    },
    "security": [{}, {"token": []}],
}
