"""The search app: a page, a JSON interface, thumbnails and metrics, the same for every engine behind it."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vtr_core.errors import InputError, one_line
from vtr_core.retrieval.explain.frames import Picture
from vtr_core.retrieval.index.items import Item
from vtr_core.retrieval.search.hit import Hit
from vtr_core.serving.address import Address
from vtr_core.serving.batching import Batcher
from vtr_core.serving.catalogue import Catalogue
from vtr_core.serving.engine import Asked, Engine, Hits
from vtr_core.serving.explorer import picture_response
from vtr_core.serving.guard import FAULTS, Guard, Limits, fault, policy
from vtr_core.serving.metrics import Metrics
from vtr_core.serving.openapi import OPENAPI
from vtr_core.serving.questions import Question, in_body, in_query
from vtr_core.time_span import time_span

RATED = ("/api/search", "/api/items/")
"""Paths that cost a forward of the model."""
OPEN = frozenset({"/api/health"})
"""What a load balancer asks for without a token."""
_KEPT_S = 3600
_ICON = Picture(0, "icon")


@dataclass(frozen=True)
class SearchSite:
    """The content of the app."""

    engine: Engine
    catalogue: Catalogue
    page: Callable[[str], str]
    """Returns the page of search, with the given nonce on its style and script."""
    reference: Callable[[str], str]
    """Returns the page that describes the interface."""
    at_once: int = 1
    """Batches of queries that the engine answers at the same time."""


def search_app(site: SearchSite, address: Address, token: str | None, rate: float) -> ASGIApp:
    """The application on `address`. Errors are JSON: {"error": message}."""
    metrics = Metrics(len(site.catalogue.items))
    answers = _Answers(site, metrics)
    pages = {"/": site.page, "/api": site.reference}
    routes = [
        *(Route(path, partial(_page, page)) for path, page in pages.items()),
        Route("/favicon.ico", lambda _request: picture_response(_ICON)),
        Route("/thumbnail", answers.thumbnail),
        Route("/api/search", answers.search),
        Route("/api/search", answers.search_many, methods=["POST"]),
        Route("/api/items/{item_id:path}", answers.item),
        Route("/api/columns", answers.columns),
        Route("/api/health", answers.health),
        Route("/api/openapi.json", lambda _request: JSONResponse(OPENAPI)),
        Route("/metrics", lambda _request: Response(metrics.text(), media_type=metrics.media_type)),
    ]
    app = Starlette(routes=routes, exception_handlers=FAULTS)
    return metrics.counting(Guard(app, address, token, Limits(rate=rate, rated=RATED), OPEN), routes)


def _page(page: Callable[[str], str], _request: Request) -> Response:
    nonce = secrets.token_urlsafe(16)
    return HTMLResponse(page(nonce), headers={"Content-Security-Policy": policy(nonce)})


class _Answers:
    """The handlers of the routes."""

    def __init__(self, site: SearchSite, metrics: Metrics) -> None:
        self._site = site
        self._batcher: Batcher[Asked, Hits] = Batcher(metrics.batched(site.engine.search), at_once=site.at_once)

    async def search(self, request: Request) -> Response:
        """The answer to one query of the address."""
        return JSONResponse(await self._answer(in_query(request.query_params)))

    async def search_many(self, request: Request) -> Response:
        """The answers to several queries of the body."""
        questions = in_body(await request.body())
        return JSONResponse({"answers": await asyncio.gather(*map(self._answer, questions))})

    async def _answer(self, question: Question) -> dict[str, Any]:
        chosen = self._site.catalogue.chosen(question.filters)
        num_items = len(self._site.catalogue.items) if chosen is None else len(chosen)
        end = question.offset + question.k
        hits = await self._batcher.ask(Asked(question.text, min(end, num_items), question.filters)) if num_items else ()
        if hits is None:
            raise InputError(f"no word of the query {question.text!r} is known to the model")
        return {
            "query": question.text,
            "not_known": self._site.engine.vocabulary.unknown_words(question.text),
            "scoring": self._site.engine.scoring,
            "offset": question.offset,
            "num_items": num_items,
            "next_offset": end if end < min(num_items, question.furthest) else None,
            "hits": [{**hit.to_json(), **_when(hit)} for hit in hits[question.offset :]],
        }

    async def item(self, request: Request) -> Response:
        """One item and, given a query, why it is found by it."""
        item_id, text = request.path_params["item_id"], request.query_params.get("q", "")
        position = self._site.catalogue.position(item_id)
        if position is None:
            return _no_item(item_id)
        item = self._site.catalogue.items[position]
        why = await self._site.engine.why(text, item_id) if text.strip() else None
        return JSONResponse({**asdict(item), **_when(item), "why": why})

    async def columns(self, _request: Request) -> Response:
        """What can be filtered by."""
        return JSONResponse({"columns": [asdict(column) for column in self._site.catalogue.columns]})

    async def health(self, _request: Request) -> Response:
        """That the app answers."""
        return JSONResponse({"status": "ok", "num_items": len(self._site.catalogue.items)})

    def thumbnail(self, request: Request) -> Response:
        """The picture of an item. Pictures change with the index alone, so that a browser may keep them."""
        item_id = request.query_params.get("id", "")
        if self._site.catalogue.position(item_id) is None:
            return _no_item(item_id)
        answer = picture_response(self._site.catalogue.picture(item_id))
        answer.headers["Cache-Control"] = f"private, max-age={_KEPT_S}"
        return answer


def _when(found: Hit | Item) -> dict[str, str]:
    return {"when": time_span(found.start, found.end)}


def _no_item(item_id: str) -> Response:
    return fault(HTTPStatus.NOT_FOUND, one_line(f"there is no item {item_id!r}"))
