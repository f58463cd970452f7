"""The interactive explanation over HTTP: one page, one JSON endpoint, key frames. Nothing but the standard library.

It is made for one person's browser. Every request must name this server in its Host header, so that a page elsewhere
whose name was rebound to this address gets nothing; no answer may be read across origins, and the page runs its own
script alone.
"""

import ipaddress
import json
import math
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from vtr_core.errors import ConfigError, InputError, VtrError
from vtr_core.retrieval.explain.frames import Picture
from vtr_core.retrieval.explain.session import ExplainSession

_LOOPBACK_NAMES = ("localhost",)
_JSON = "application/json; charset=utf-8"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Explorer:
    """What is served."""

    session: ExplainSession
    page: Callable[[str], str]
    """The page with this nonce on its style and script."""
    picture: Callable[[str], Picture]
    """The key frame of a video of the session."""


@dataclass(frozen=True)
class _Answer:
    status: HTTPStatus
    media_type: str
    content: bytes
    policy: str = "default-src 'none'"


class ExplainServer(ThreadingHTTPServer):
    """A server of one explorer; its port is `server_address[1]`."""

    daemon_threads = True

    def __init__(self, host: str, port: int, explorer: Explorer) -> None:
        self.explorer, self.host = explorer, host
        self.videos = frozenset(explorer.session.videos.video_id)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"cannot serve on {host} port {port} ({error}); give another --port, 0 for any"
            ) from error

    @property
    def url(self) -> str:
        """The address for a browser."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that gave up waiting is no fault; everything else is reported."""
        import sys

        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is served on `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOOPBACK_NAMES


def allowed_host(header: str | None, host: str, port: int) -> bool:
    """Whether a request's Host header names a server on `host` and `port`.

    On a loopback address: that address, localhost or another loopback address. Elsewhere also any address in digits,
    and this machine's name: a name that someone else controls is none of these.
    """
    try:
        parts = urlsplit(f"//{header or ''}")
        name, given = parts.hostname or "", parts.port or 80
    except ValueError:
        return False
    if given != port or not name or parts.username is not None or parts.path:
        return False
    if name == host.lower() or is_loopback(name):
        return True
    return not is_loopback(host) and (_is_address(name) or name == socket.gethostname().lower())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Handler(BaseHTTPRequestHandler):
    server: ExplainServer
    server_version = "vtr"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        try:
            answer = self._answer()
        except VtrError as error:
            answer = _fault(HTTPStatus.BAD_REQUEST, str(error))
        except Exception:
            self.server.handle_error(self.request, self.client_address)  # first, so that the terminal does say why
            answer = _fault(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed; its terminal says why")
        self._send(answer)

    def _answer(self) -> _Answer:
        port = int(self.server.server_address[1])
        if not allowed_host(self.headers.get("Host"), self.server.host, port):
            return _fault(HTTPStatus.FORBIDDEN, f"this server answers as {self.server.url} alone")
        parts = urlsplit(self.path)
        values = {name: found[-1] for name, found in parse_qs(parts.query, max_num_fields=20).items()}
        match parts.path:
            case "/":
                return self._page()
            case "/search":
                return self._search(values)
            case "/keyframe":
                return self._picture(values.get("video", ""))
            case _:
                return _fault(HTTPStatus.NOT_FOUND, "there is /, /search?q=…&a=…&b=…&p=… and /keyframe?video=…")

    def _page(self) -> _Answer:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        page = self.server.explorer.page(nonce).encode()
        return _Answer(HTTPStatus.OK, "text/html; charset=utf-8", page, policy)

    def _search(self, values: dict[str, str]) -> _Answer:
        a, b, p = (_number(name, values.get(name, default)) for name, default in (("a", "1"), ("b", "0"), ("p", "1")))
        found = self.server.explorer.session.search(values.get("q", ""), a, b, p)
        return _Answer(HTTPStatus.OK, _JSON, json.dumps(found, allow_nan=False).encode())

    def _picture(self, video: str) -> _Answer:
        if video not in self.server.videos:
            return _fault(HTTPStatus.NOT_FOUND, "there is no such video")
        picture = self.server.explorer.picture(video)
        if picture.content:
            return _Answer(HTTPStatus.OK, picture.media_type, picture.content)
        return _Answer(HTTPStatus.OK, "image/svg+xml", picture.placeholder.encode())

    def _send(self, answer: _Answer) -> None:
        self.send_response(answer.status)
        headers = {**_HEADERS, "Content-Type": answer.media_type, "Content-Security-Policy": answer.policy}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The library's own faults, such as a method that there is not, as JSON."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._send(_fault(status, message or explain or status.phrase))

    def log_message(self, format: str, *args: object) -> None:
        """Queries are nobody else's business."""


def _fault(status: HTTPStatus, message: str) -> _Answer:
    return _Answer(status, _JSON, json.dumps({"error": message}).encode())


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; it must be a number") from error
    if not math.isfinite(value):
        raise InputError(f"{name} is {text!r}; it must be finite")
    return value
