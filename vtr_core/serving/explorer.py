"""The interactive explanation over HTTP: one page, one JSON endpoint, key frames, behind `Guard`.

It serves one user's browser; the page runs its own script alone.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vtr_core.errors import InputError
from vtr_core.retrieval.explain.frames import Picture
from vtr_core.retrieval.explain.session import ExplainSession
from vtr_core.serving.address import Address
from vtr_core.serving.guard import FAULTS, Guard, fault, policy


@dataclass(frozen=True)
class Explorer:
    """The content served by the app."""

    session: ExplainSession
    page: Callable[[str], str]
    """Returns the page, with the given nonce on its style and script."""
    picture: Callable[[str], Picture]
    """Returns the key frame of a video of the session, with its time span."""


def explorer_app(explorer: Explorer, address: Address) -> ASGIApp:
    """The application of one explorer on `address`. Errors are JSON: {"error": message}."""
    videos = frozenset(explorer.session.videos.video_id)

    def page(_request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        return HTMLResponse(explorer.page(nonce), headers={"Content-Security-Policy": policy(nonce)})

    def search(request: Request) -> Response:
        given = request.query_params
        a, b, p = (_number(name, given.get(name, default)) for name, default in (("a", "1"), ("b", "0"), ("p", "1")))
        found = explorer.session.search(given.get("q", ""), a, b, p)
        return JSONResponse({**found, "hits": [_timed(hit, explorer) for hit in found["hits"]]})

    def key_frame(request: Request) -> Response:
        video = request.query_params.get("video", "")
        if video not in videos:
            return fault(HTTPStatus.NOT_FOUND, "there is no such video")
        return picture_response(explorer.picture(video))

    routes = [Route("/", page), Route("/search", search), Route("/keyframe", key_frame)]
    return Guard(Starlette(routes=routes, exception_handlers={**FAULTS, HTTPStatus.NOT_FOUND: _nowhere}), address)


def picture_response(picture: Picture) -> Response:
    """The key frame, or its placeholder."""
    if picture.content:
        return Response(picture.content, media_type=picture.media_type)
    return Response(picture.placeholder, media_type="image/svg+xml")


def _timed(hit: dict[str, Any], explorer: Explorer) -> dict[str, Any]:
    return {**hit, "when": explorer.picture(hit["video_id"]).when}


def _nowhere(_request: Request, _error: Exception) -> Response:
    return fault(HTTPStatus.NOT_FOUND, "there is /, /search?q=…&a=…&b=…&p=… and /keyframe?video=…")


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; it must be a number") from error
    if not math.isfinite(value):
        raise InputError(f"{name} is {text!r}; it must be finite")
    return value
