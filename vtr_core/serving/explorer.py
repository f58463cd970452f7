"""The interactive explanation over HTTP: one page, one JSON endpoint, key frames.

It serves one user's browser. Every request must name this server in its Host header, which defeats DNS rebinding;
responses cannot be read across origins, and the page runs its own script alone.
"""

import math
import secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from vtr_core.errors import InputError, VtrError
from vtr_core.retrieval.explain.frames import Picture
from vtr_core.retrieval.explain.session import ExplainSession
from vtr_core.serving.address import Address

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Explorer:
    """The content served by the app."""

    session: ExplainSession
    page: Callable[[str], str]
    """Returns the page, with the given nonce on its style and script."""
    picture: Callable[[str], Picture]
    """Returns the key frame of a video of the session, with its time span."""


def explorer_app(explorer: Explorer, address: Address) -> Starlette:
    """The application of one explorer on `address`. Errors are JSON: {"error": message}."""
    videos = frozenset(explorer.session.videos.video_id)

    def page(_request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        return HTMLResponse(explorer.page(nonce), headers={"Content-Security-Policy": _policy(nonce)})

    def search(request: Request) -> Response:
        given = request.query_params
        a, b, p = (_number(name, given.get(name, default)) for name, default in (("a", "1"), ("b", "0"), ("p", "1")))
        found = explorer.session.search(given.get("q", ""), a, b, p)
        return JSONResponse({**found, "hits": [_timed(hit, explorer) for hit in found["hits"]]})

    def key_frame(request: Request) -> Response:
        video = request.query_params.get("video", "")
        if video not in videos:
            return _fault(HTTPStatus.NOT_FOUND, "there is no such video")
        picture = explorer.picture(video)
        if picture.content:
            return Response(picture.content, media_type=picture.media_type)
        return Response(picture.placeholder, media_type="image/svg+xml")

    async def guarded(request: Request, call_next: RequestResponseEndpoint) -> Response:
        answer = await _answered(request, call_next, address)
        answer.headers.update(_HEADERS)
        answer.headers.setdefault("Content-Security-Policy", "default-src 'none'")
        return answer

    return Starlette(
        routes=[Route("/", page), Route("/search", search), Route("/keyframe", key_frame)],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=guarded)],
        exception_handlers={HTTPStatus.NOT_FOUND: _nowhere},
    )


def _timed(hit: dict[str, Any], explorer: Explorer) -> dict[str, Any]:
    return {**hit, "when": explorer.picture(hit["video_id"]).when}


async def _answered(request: Request, call_next: RequestResponseEndpoint, address: Address) -> Response:
    """The response of the application, or an error; internal errors are printed on the terminal only."""
    if not address.is_named_by(request.headers.get("host")):
        return _fault(HTTPStatus.FORBIDDEN, f"this server answers as {address.url} alone")
    if request.method != "GET":
        return _fault(HTTPStatus.NOT_IMPLEMENTED, f"there is no {request.method} here, GET alone")
    try:
        return await call_next(request)
    except VtrError as error:
        return _fault(HTTPStatus.BAD_REQUEST, str(error))
    except Exception:
        traceback.print_exc()  # before the response, which refers to the terminal
        return _fault(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed; its terminal says why")


def _nowhere(_request: Request, _error: Exception) -> Response:
    return _fault(HTTPStatus.NOT_FOUND, "there is /, /search?q=…&a=…&b=…&p=… and /keyframe?video=…")


def _policy(nonce: str) -> str:
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _fault(status: HTTPStatus, message: str) -> Response:
    return JSONResponse({"error": message}, status)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; it must be a number") from error
    if not math.isfinite(value):
        raise InputError(f"{name} is {text!r}; it must be finite")
    return value
