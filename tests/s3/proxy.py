"""A server between a client and a store that answers with faults instead of passing requests on."""

import http.client
import socket
import struct
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

NOT_PASSED = {"expect", "transfer-encoding", "content-length"}
KEPT_BACK = {"connection", "transfer-encoding", "content-length", "server", "date"}


@dataclass(frozen=True)
class Answer:
    """An error of the store: its HTTP status and its code. The text around it quotes `secret`."""

    status: int
    code: str
    secret: str = ""

    @property
    def body(self) -> bytes:
        return (
            f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{self.code}</Code><Message>The key {self.secret} is '
            f"refused</Message><AWSAccessKeyId>{self.secret}</AWSAccessKeyId><RequestId>1</RequestId></Error>"
        ).encode()


@dataclass(frozen=True)
class Reset:
    """The connection breaks."""


@dataclass(frozen=True)
class Request:
    """What a client asked for."""

    method: str
    path: str
    bytes_range: str | None


class Proxy:
    """Passes requests on to `endpoint`; the next of `faults`, or `always`, is the answer instead if there is one."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        assert parts.hostname is not None
        self.store = (parts.hostname, parts.port or 80)
        self.faults: list[Answer | Reset] = []
        self.always: Answer | Reset | None = None
        self.requests: list[Request] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.accept()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def accept(self) -> None:
        """Listen, on the same port every time."""
        self._server = _Server(("127.0.0.1", self._port), _handler(self))
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def refuse(self) -> None:
        """Close the port and every connection."""
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            for connection in self._open:
                _break(connection)
            self._open.clear()

    def next_fault(self, request: Request) -> Answer | Reset | None:
        with self._lock:
            self.requests.append(request)
            return self.faults.pop(0) if self.faults else self.always

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what this server is for."""


def _break(connection: socket.socket) -> None:
    """Close so that the other side sees a reset."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
    except OSError:
        pass


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            proxy.opened(self.connection)

        def finish(self) -> None:
            proxy.closed(self.connection)
            super().finish()

        def answer(self) -> None:
            body = self._body()
            fault = proxy.next_fault(Request(self.command, self.path, self.headers.get("Range")))
            match fault:
                case Reset():
                    self.close_connection = True
                    _break(self.connection)
                case Answer():
                    self._send(fault.status, {"Content-Type": "application/xml"}, fault.body, None)
                case None:
                    self._pass_on(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            chunks = []
            while (size := int(self.rfile.readline().split(b";")[0], 16)) > 0:
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)

        def _pass_on(self, body: bytes) -> None:
            store = http.client.HTTPConnection(*proxy.store, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED}
            headers["Content-Length"] = str(len(body))
            store.request(self.command, self.path, body, headers)
            reply = store.getresponse()
            content = reply.read()
            remaining = {name: value for name, value in reply.getheaders() if name.lower() not in KEPT_BACK}
            self._send(reply.status, remaining, content, reply.getheader("Content-Length"))
            store.close()

        def _send(self, status: int, headers: dict[str, str], content: bytes, length: str | None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            of_head = self.command == "HEAD"
            self.send_header("Content-Length", (length or "0") if of_head else str(len(content)))
            self.end_headers()
            if not of_head:
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
