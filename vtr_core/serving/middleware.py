"""What every server does with a request around its application: who may ask; headers; metrics."""

import hmac
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vtr_core.errors import VtrError
from vtr_core.serving.connections import BODY_BYTES
from vtr_core.serving.server import Address

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
COOKIE = "vtr_token"


class Guard:
    """ASGI middleware of the rules above; what fails inside is printed on the terminal alone.

    open_paths: those that need no token.
    """

    def __init__(
        self,
        app: ASGIApp,
        address: Address,
        token: str | None = None,
        open_paths: frozenset[str] = frozenset(),
    ) -> None:
        self._app, self._address, self._token, self._open = app, address, token, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        chosen = self._app if refusal is None else refusal
        try:
            await chosen(scope, receive, _with_headers(send))
        except Exception:
            traceback.print_exc()  # the response was sent by `failed`

    def _refusal(self, request: Request) -> Response | None:
        if self._token is None:
            if not self._address.is_named_by(request.headers.get("host")):
                return fault(HTTPStatus.FORBIDDEN, f"this server answers as {self._address.url} alone")
        elif _path(request) not in self._open and not _equal(self._token, _given(request)):
            return self._introduced(request, self._token)
        if _is_of_another_site(request):
            return fault(HTTPStatus.FORBIDDEN, "pages of other sites get no answer; open this server's own page")
        if int(request.headers.get("content-length", "0")) > BODY_BYTES:  # FastAPI would say so in plain text
            return fault(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {BODY_BYTES} bytes")
        return None

    def _introduced(self, request: Request, token: str) -> Response:
        """The cookie for whoever opens the page with the token, which then leaves the address bar."""
        if request.method != "GET" or not _equal(token, request.query_params.get("token", "")):
            refusal = fault(HTTPStatus.UNAUTHORIZED, "give the server's token: Authorization: Bearer …, or /?token=…")
            refusal.headers["WWW-Authenticate"] = "Bearer"
            return refusal
        rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
        answer = RedirectResponse(f"{_path(request)}{'?' if rest else ''}{rest}", HTTPStatus.SEE_OTHER)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return answer


def _is_of_another_site(request: Request) -> bool:
    """Whether a page of another origin asks, as browsers say; whoever follows a link to this server's page may."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        return True
    is_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate" and _path(request) == "/"
    return site not in ("none", "same-origin") and not is_link


def _path(request: Request) -> str:
    """The path that is routed; that of `request.url` is made of the Host header in some releases of starlette."""
    path: str = request.scope["path"]
    return path


def _given(request: Request) -> str:
    scheme, _, word = request.headers.get("authorization", "").partition(" ")
    return word.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")


def _equal(token: str, given: str) -> bool:
    """Compared in a time that does not tell how much of it is right."""
    return hmac.compare_digest(token.encode(), given.encode())


def _with_headers(send: Send) -> Send:
    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault("Cache-Control", "no-store")
            headers.setdefault("Content-Security-Policy", "default-src 'none'")
        await send(message)

    return headed


def fault(status: int, message: str) -> JSONResponse:
    """An error as JSON: {"error": message}."""
    return JSONResponse({"error": message}, status)


def _not_usable(_request: Request, error: Exception) -> Response:
    return fault(HTTPStatus.BAD_REQUEST, str(error))


def _of_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return fault(error.status_code, error.detail)


def failed(_request: Request, _error: Exception) -> Response:
    """The answer to what fails inside, which says nothing of it."""
    return fault(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed; its terminal says why")


FAULTS: dict[type[Exception], Callable[[Request, Exception], Response]] = {
    VtrError: _not_usable,
    HTTPException: _of_http,
    Exception: failed,
}
"""Handlers of an application behind `Guard`."""


def policy(nonce: str) -> str:
    """The content security policy of a page whose style and script carry `nonce`."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


Question = TypeVar("Question")
Answer = TypeVar("Answer")
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)
_QUERIES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counts and times of one application."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, num_items: int) -> None:
        self._registry = CollectorRegistry()
        labels = ("path", "status")
        self._requests = Counter("vtr_requests", "Requests answered", labels, registry=self._registry)
        self._seconds = Histogram(
            "vtr_request_seconds", "Time to answer", ("path",), registry=self._registry, buckets=_SECONDS
        )
        self._batches = Histogram(
            "vtr_batch_queries", "Queries answered together", registry=self._registry, buckets=_QUERIES
        )
        Gauge("vtr_index_items", "Items of the index", registry=self._registry).set(num_items)

    def text(self) -> bytes:
        """The metrics now."""
        return generate_latest(self._registry)

    def batched(
        self, answer: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]
    ) -> Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]:
        """`answer`, with the sizes of its batches counted."""

        async def counted(questions: Sequence[Question]) -> Sequence[Answer]:
            self._batches.observe(len(questions))
            return await answer(questions)

        return counted

    def counting(self, app: ASGIApp, routes: Sequence[Route]) -> ASGIApp:
        """`app`, with its requests counted by route, never by what clients write."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            begun, status = time.perf_counter(), 500

            async def watched(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, watched)
            finally:
                path = next((route.path for route in routes if route.matches(scope)[0] is Match.FULL), "")
                self._requests.labels(path, str(status)).inc()
                self._seconds.labels(path).observe(time.perf_counter() - begun)

        return counted
