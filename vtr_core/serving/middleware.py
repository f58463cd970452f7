"""What every server does with a request around its application: who may ask; headers; metrics."""

import asyncio
import hmac
import ipaddress
import logging
import math
import time
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote, urlencode

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vtr_core.errors import InputError, VtrError, one_line
from vtr_core.retrieval.explain.explanation import LONGEST_QUERY
from vtr_core.serving.connections import BODY_BYTES
from vtr_core.serving.engine import BusyError
from vtr_core.serving.server import Address

logger = logging.getLogger(__name__)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
COOKIE = "vtr_token"
ANSWER_S = 30.0
"""Seconds in which a request is answered, or refused."""
LONGEST_PARAMETER = LONGEST_QUERY
"""Characters of a parameter in an address."""
_ADDRESSES = 4096
_WRONG_TOKENS, _WRONG_TOKENS_S = 10, 10.0
"""Wrong tokens that an address may send at once, and the seconds until it may send one more."""


class Allowance:
    """What the clients of an address may use: `most` at once, and `per_second` more as time goes by (a token bucket).

    The addresses that used something last are remembered. Of IPv6 an address is a network of 64 bits, which is what a
    client gets. clock: seconds.
    """

    def __init__(self, per_second: float, most: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._most, self._clock = per_second, most, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, address: str, amount: float = 1) -> float:
        """The seconds until an address may use `amount`; 0 where it may now."""
        return max(0.0, amount - self._left_of(_network(address))) / self._per_second

    def take(self, address: str, amount: float = 1) -> float:
        """Use `amount`, at most all, and return 0; or leave it and return the seconds until there is so much."""
        amount = min(amount, self._most)
        wait_s = self.wait_s(address, amount)
        if not wait_s:
            network = _network(address)
            self._left[network] = self._left_of(network) - amount, self._clock()
            self._left.move_to_end(network)
            if len(self._left) > _ADDRESSES:
                self._left.popitem(last=False)
        return wait_s

    def _left_of(self, network: str) -> float:
        left, at = self._left.get(network, (self._most, self._clock()))
        return min(self._most, left + (self._clock() - at) * self._per_second)


def _network(address: str) -> str:
    address, _, _ = address.partition("%")  # the interface of a link-local one
    return str(ipaddress.ip_network(f"{address}/64", strict=False)) if ":" in address else address


def client_of(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else ""


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
        self._wrong_tokens = Allowance(1 / _WRONG_TOKENS_S, _WRONG_TOKENS)
        self._known_clients: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, begun = Request(scope), False

        async def headed(message: Message) -> None:
            nonlocal begun
            begun = True
            await _with_headers(message, send)

        try:
            async with asyncio.timeout(ANSWER_S):
                chosen = self._refusal(request) or self._app
                await chosen(scope, receive, headed)
        except TimeoutError:
            if not begun:
                message = f"the answer takes longer than {ANSWER_S:g} seconds; ask for less, or later"
                await fault(HTTPStatus.SERVICE_UNAVAILABLE, message)(scope, receive, headed)
        except Exception:
            traceback.print_exc()  # the response was sent by `failed`

    def _refusal(self, request: Request) -> Response | None:
        if self._token is None and not self._address.is_named_by(request.headers.get("host")):
            return fault(HTTPStatus.FORBIDDEN, f"this server answers as {self._address.url} alone")
        if _is_of_another_site(request):
            return fault(HTTPStatus.FORBIDDEN, "pages of other sites get no answer; open this server's own page")
        for name, value in request.query_params.multi_items():
            longest = max(len(name), len(value))
            if longest > LONGEST_PARAMETER:
                message = f"{name[:20]} has {longest} characters; {LONGEST_PARAMETER} are allowed"
                return fault(HTTPStatus.BAD_REQUEST, one_line(message))
        if self._token is not None and _path(request) not in self._open:
            refusal = self._introduced(request, self._token)
            if refusal is not None:
                return refusal
        if _length(request) > BODY_BYTES:  # FastAPI would say so in plain text
            return fault(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {BODY_BYTES} bytes")
        return None

    def _introduced(self, request: Request, token: str) -> Response | None:
        """None for who has the token; the cookie for who opens the page with it, which then leaves the address bar.

        An address with too many wrong tokens is not listened to, unless it had the right one before: others may share
        it, behind a proxy.
        """
        client = client_of(request)
        wait_s = self._wrong_tokens.wait_s(client)
        if wait_s and client not in self._known_clients:
            return failed(request, refused_for(wait_s, "this address has sent too many wrong tokens"))
        scheme, _, word = request.headers.get("authorization", "").partition(" ")
        given = word.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
        in_address = request.query_params.get("token", "")
        is_known = _equal(token, given)
        if is_known or (request.method == "GET" and _equal(token, in_address)):
            self._known_clients.add(client)
            if not in_address or request.method != "GET":
                return None
            answer = RedirectResponse(_without_token(request), HTTPStatus.SEE_OTHER)
            if not is_known:
                answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
            return answer
        if given or in_address:
            self._wrong_tokens.take(client)
        if wait_s:
            return failed(request, refused_for(wait_s, "this address has sent too many wrong tokens"))
        refusal = fault(HTTPStatus.UNAUTHORIZED, "give the server's token: Authorization: Bearer …, or /?token=…")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal


def _without_token(request: Request) -> str:
    """The path and the other parameters; a path that begins with two slashes would lead to another site."""
    rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
    path = quote(_path(request).lstrip("/\\"))
    return f"/{path}{'?' if rest else ''}{rest}"


def _is_of_another_site(request: Request) -> bool:
    """Whether a page of another origin asks, as browsers say; whoever follows a link to this server's page may."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    own = request.headers.get("host", "").lower()
    if origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}"):
        return True
    is_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate" and _path(request) == "/"
    return site not in ("none", "same-origin") and not is_link


def _length(request: Request) -> float:
    """The length of the body as its header says."""
    length = request.headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else math.inf


def _path(request: Request) -> str:
    """The path that is routed; that of `request.url` is made of the Host header in some releases of starlette."""
    path: str = request.scope["path"]
    return path


def _equal(token: str, given: str) -> bool:
    """Compared in a time that does not tell how much of it is right."""
    return hmac.compare_digest(token.encode(), given.encode())


async def _with_headers(message: Message, send: Send) -> None:
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        headers.update(HEADERS)
        headers.setdefault("Cache-Control", "no-store")
        headers.setdefault("Content-Security-Policy", "default-src 'none'")
    await send(message)


def fault(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as JSON: {"error": message}."""
    return JSONResponse({"error": message}, status, headers)


def refused_for(wait_s: float, reason: str) -> HTTPException:
    """The refusal of a client that asks for more than it may have."""
    seconds = math.ceil(wait_s)
    message = f"{reason}; ask again in {seconds} s"
    return HTTPException(HTTPStatus.TOO_MANY_REQUESTS, message, {"Retry-After": str(seconds)})


FAULTS = (InputError, VtrError, BusyError, HTTPException, Exception)
"""What an application behind `Guard` answers by `failed`."""


def failed(_request: Request, error: Exception) -> Response:
    """The answer to what is raised inside; places of the server, and what fails in its code, are not for clients."""
    match error:
        case HTTPException():
            return fault(error.status_code, error.detail, error.headers)
        case InputError():
            return fault(HTTPStatus.BAD_REQUEST, str(error))
        case BusyError():
            return fault(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests wait; ask again soon", {"Retry-After": "1"})
        case VtrError():
            logger.error("%s", error)
            message = "this cannot be answered now; the server's terminal says why"
            return fault(HTTPStatus.SERVICE_UNAVAILABLE, message)
        case _:
            return fault(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed; its terminal says why")


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

    async def page(self, _request: Request) -> Response:
        """The metrics now."""
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

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
