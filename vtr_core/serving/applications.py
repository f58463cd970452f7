"""The search app, the same for every engine behind it."""

import asyncio
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Annotated

import numpy as np
from fastapi import Depends, FastAPI, HTTPException, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.security import HTTPBearer
from jaxtyping import Int64
from starlette.routing import Route
from starlette.types import ASGIApp

from vtr_core.errors import InputError, one_line
from vtr_core.retrieval.explain.explanation import HitExplanation
from vtr_core.retrieval.explain.pages import PLACEHOLDER, Picture
from vtr_core.retrieval.index.items import Item
from vtr_core.retrieval.search.filters import Condition
from vtr_core.retrieval.search.index_search import Hit
from vtr_core.serving.connections import BODY_BYTES
from vtr_core.serving.engine import Batcher, Catalogue, Engine, Hits, Parameters, SearchQuery
from vtr_core.serving.json_interface import (
    DEFAULT_K,
    FURTHEST,
    LARGEST_K,
    MOST_QUERIES,
    Answer,
    Answers,
    Columns,
    Error,
    Filters,
    FoundItem,
    Health,
    ItemAnswer,
    Offset,
    PageSize,
    Power,
    QueryText,
    Scale,
    SearchBody,
    Shift,
    Why,
    parameters,
    queries,
    refused,
)
from vtr_core.serving.middleware import FAULTS, Allowance, Guard, Metrics, client_of, failed, fault, policy, refused_for
from vtr_core.serving.server import Address
from vtr_core.time_span import time_span

OPEN = frozenset({"/api/health"})
"""What a load balancer asks for without a token."""
_KEPT_S, _PICTURES = 3600, 128
_RATE_OVER_S = 5.0
_ICON = Picture(0, "icon")


@dataclass(frozen=True)
class SearchSite:
    """The content of the app."""

    engine: Engine
    catalogue: Catalogue
    picture: Callable[[str], Picture]
    """Returns the picture of an item by its id; called in threads."""
    page: Callable[[str], str]
    """Returns the page of search, with the given nonce on its style and script."""
    at_once: int = 1
    """Batches of queries that the engine answers at the same time."""


def search_app(site: SearchSite, address: Address, token: str | None, rate: float | None = None) -> ASGIApp:
    """The application on `address`. Errors are JSON: {"error": message}.

    token: what requests must carry. rate: queries per second that one client address may ask on average over
    `_RATE_OVER_S`; None for no limit.
    """
    metrics = Metrics(len(site.catalogue.items))
    allowance = None if rate is None else Allowance(rate, max(MOST_QUERIES, rate * _RATE_OVER_S))
    answers = _Answers(site, metrics, allowance)
    app = FastAPI(
        title="vtr serve",
        version="1",
        description="Search of videos by text.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # it loads scripts from elsewhere
        redoc_url=None,
        dependencies=[] if token is None else [Depends(HTTPBearer(auto_error=False))],  # for the description; see Guard
        responses={"4XX": {"model": Error, "description": "what is asked for is not possible, or not allowed"}},
        max_body_size=BODY_BYTES,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # queries are private
    )
    for kind in FAULTS:
        app.add_exception_handler(kind, failed)
    app.add_exception_handler(RequestValidationError, lambda _, error: fault(HTTPStatus.BAD_REQUEST, refused(error)))
    app.get("/api/search", summary="the best items for a query")(answers.search)
    app.post("/api/search", summary="the best items for several queries")(answers.search_many)
    app.get("/api/items/{item_id:path}", summary="an item and, given a query, why it is found")(answers.item)
    app.get("/api/columns", summary="what can be filtered by")(answers.columns)
    app.get("/api/health", summary="whether the server answers; needs no token")(answers.health)
    app.head("/api/health", include_in_schema=False)(answers.health)
    app.add_route("/", partial(_page, site.page))
    app.add_route("/favicon.ico", lambda _request: _picture(_ICON))
    app.add_route("/thumbnail", answers.thumbnail)
    app.add_route("/metrics", metrics.page)
    routes = [route for route in app.routes if isinstance(route, Route)]
    return metrics.counting(Guard(app, address, token, OPEN), routes)


async def _page(page: Callable[[str], str], _request: Request) -> Response:
    nonce = secrets.token_urlsafe(16)
    return HTMLResponse(page(nonce), headers={"Content-Security-Policy": policy(nonce)})


_Chosen = Int64[np.ndarray, " chosen"] | None
_Reason = tuple[str, str, Parameters | None]
"""A query, an item, and a transform."""


class _Answers:
    """The handlers of the routes.

    What takes long waits in a queue of its own, so that none keeps another waiting: searches, those under a transform,
    which is computed for all items, filters, and explanations; pictures are read in the threads of Starlette.
    """

    def __init__(self, site: SearchSite, metrics: Metrics, allowance: Allowance | None) -> None:
        self._engine, self._catalogue, self._allowance = site.engine, site.catalogue, allowance
        self._columns = site.catalogue.columns
        self._picture = lru_cache(_PICTURES)(site.picture)
        search = metrics.batched(site.engine.search)
        self._plain: Batcher[SearchQuery, Hits] = Batcher(search, at_once=site.at_once)
        self._transformed: Batcher[SearchQuery, Hits] = Batcher(search, most=1, at_once=site.at_once)
        self._chosen: Batcher[tuple[Condition, ...], _Chosen] = Batcher(self._meeting, most=1, at_once=2)
        self._reasons: Batcher[_Reason, HitExplanation | None] = Batcher(self._why, most=1, at_once=site.at_once)

    async def _meeting(self, filters: Sequence[tuple[Condition, ...]]) -> list[_Chosen]:
        return [await asyncio.to_thread(self._catalogue.chosen, conditions) for conditions in filters]

    async def _why(self, reasons: Sequence[_Reason]) -> list[HitExplanation | None]:
        return [await self._engine.why(*reason) for reason in reasons]

    def _count(self, request: Request, asked: Sequence[SearchQuery]) -> None:
        """Count each page of hits that a client's queries need; HTTPException where it has asked too many."""
        pages = sum(math.ceil(query.k / LARGEST_K) for query in asked)
        wait_s = 0.0 if self._allowance is None else self._allowance.take(client_of(request), pages)
        if wait_s:
            raise refused_for(wait_s, "this address asks too many queries")

    async def search(
        self,
        request: Request,
        text: QueryText,
        k: PageSize = DEFAULT_K,
        offset: Offset = 0,
        conditions: Filters = (),
        scale: Scale = None,
        shift: Shift = None,
        power: Power = None,
    ) -> Answer:
        """The answer to one query of the address."""
        every = queries([text], k, offset, conditions, parameters(scale, shift, power))
        self._count(request, every)
        (answer,) = await self._answers(every, offset)
        return answer

    async def search_many(self, request: Request, body: SearchBody) -> Answers:
        """The answers to several queries of the body."""
        every = queries(body.queries, body.k, body.offset, body.filter)
        self._count(request, every)
        return Answers(answers=await self._answers(every, body.offset))

    async def _answers(self, asked: Sequence[SearchQuery], offset: int) -> list[Answer]:
        """The pages of hits from `offset` on, for queries with the same filters."""
        filters = asked[0].filters
        chosen = await self._chosen.ask(filters) if filters else None
        num_items = len(self._catalogue.items) if chosen is None else len(chosen)
        return await asyncio.gather(*(self._answer(query, offset, num_items) for query in asked))

    async def _answer(self, query: SearchQuery, offset: int, num_items: int) -> Answer:
        """The page of hits from `offset` on, of the items that meet the filters."""
        batcher = self._plain if query.transform is None else self._transformed
        hits = await batcher.ask(replace(query, k=min(query.k, num_items))) if num_items else ()
        if hits is None:
            raise InputError(f"no word of the query {query.text!r} is known to the model")
        info = self._engine.info
        return Answer(
            query=query.text,
            not_known=list(info.vocabulary.unknown_words(query.text)),
            scoring=info.scoring,
            offset=offset,
            num_items=num_items,
            next_offset=query.k if query.k < min(num_items, FURTHEST) else None,
            hits=[FoundItem.model_validate({**hit.to_json(), **_when(hit)}) for hit in hits[offset:]],
        )

    async def item(
        self,
        request: Request,
        item_id: Annotated[str, Path(description="the item")],
        text: Annotated[str, Query(alias="q", description="the query that is explained")] = "",
        scale: Scale = None,
        shift: Shift = None,
        power: Power = None,
    ) -> ItemAnswer:
        """One item and, given a query, why it is found by it."""
        position = self._catalogue.index.position(item_id)
        if position is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, one_line(f"there is no item {item_id!r}"))
        item, why = self._catalogue.items[position], None
        if text.strip():
            self._count(request, [SearchQuery(text, 1)])
            why = await self._reasons.ask((text, item_id, parameters(scale, shift, power)))
        values = {**asdict(item), **_when(item), "why": None if why is None else Why.of(why)}
        return ItemAnswer.model_validate(values)

    async def columns(self) -> Columns:
        """What can be filtered by."""
        return Columns(columns=self._columns)

    async def health(self) -> Health:
        """That the app answers."""
        return Health(status="ok", num_items=len(self._catalogue.items))

    def thumbnail(self, request: Request) -> Response:
        """The picture of an item. Pictures change with the index alone, so that a browser may keep them."""
        item_id = request.query_params.get("id", "")
        if self._catalogue.index.position(item_id) is None:
            return fault(HTTPStatus.NOT_FOUND, one_line(f"there is no item {item_id!r}"))
        answer = _picture(self._picture(item_id))
        answer.headers["Cache-Control"] = f"private, max-age={_KEPT_S}"
        return answer


def _picture(picture: Picture) -> Response:
    """The key frame, or its placeholder."""
    if picture.content:
        return Response(picture.content, media_type=picture.media_type)
    return Response(PLACEHOLDER, media_type="image/svg+xml")


def _when(item: Hit | Item) -> dict[str, str]:
    return {"when": time_span(item.start, item.end)}
