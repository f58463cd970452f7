"""Clients that open connections and then do not go on: a server ends them, and answers the others."""

import contextlib
import http.client
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.distribution.project import ROOT
from vtr_core.serving.connections import ConnectionLimits
from vtr_core.serving.server import AppServer

_OPEN_FILES = 1024
"""Files that a process may open on most machines."""
_SERVES = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({_OPEN_FILES}, {_OPEN_FILES}))
from tests.serving.test_connections import app
from vtr_core.serving.server import AppServer
server = AppServer("127.0.0.1", 0, lambda address: app())
print(server.address.port, flush=True)
server.run()
"""
_LONG = b"x" * 20_000_000


async def _echo(request: Request) -> Response:
    return PlainTextResponse(await request.body())


def app() -> Starlette:
    """An application that answers with the body of a request, or with more than a socket holds."""
    return Starlette(
        routes=[
            Route("/", _echo, methods=["GET", "POST"]),
            Route("/long", lambda _request: PlainTextResponse(_LONG)),
        ]
    )


@contextmanager
def serving(limits: ConnectionLimits) -> Iterator[int]:
    """The port of a server of this process."""
    server = AppServer("127.0.0.1", 0, lambda address: app(), limits)
    thread = Thread(target=server.run)
    thread.start()
    yield server.address.port
    server.stop()
    thread.join()


def connected(port: int, sent: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=600)
    client.sendall(sent)
    return client


def status(port: int, body: bytes | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET" if body is None else "POST", "/", body)
    answer = connection.getresponse().status
    connection.close()
    return answer


def rest(client: socket.socket) -> bytes:
    """What a server sends until it closes the connection."""
    content = b""
    with client, contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            content += part
    return content


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open the sockets of the clients."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 2 * _OPEN_FILES:
        pytest.skip(f"a process may open {before[1]} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2 * _OPEN_FILES), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_thousand_silent_connections_keep_nobody_out(many_files: None) -> None:
    """The server may open 1,024 files."""
    words = [sys.executable, "-c", _SERVES]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with contextlib.ExitStack() as silent:
            for _ in range(_OPEN_FILES + 76):
                silent.enter_context(connected(port))
            assert [status(port), status(port, b"body")] == [200, 200]
        process.terminate()


def test_a_request_that_does_not_go_on_is_ended() -> None:
    with serving(ConnectionLimits(most=10, client_s=0.2)) as port:
        for sent in (
            b"",
            b"GET / HTTP/1.1\r\nHost: x\r\nX-",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
        ):
            assert rest(connected(port, sent)).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\nX-", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"]
)
def test_bytes_that_dribble_are_no_reason_to_wait_on(sent: bytes) -> None:
    with serving(ConnectionLimits(most=10, client_s=0.2)) as port, connected(port, sent) as client:
        client.settimeout(0.02)
        answer = b""
        while not answer:  # one byte after the other, each soon after the last
            with contextlib.suppress(TimeoutError):
                client.sendall(b"x")
                answer = client.recv(100)
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_second_request_has_the_same_time() -> None:
    with serving(ConnectionLimits(most=10, client_s=0.5)) as port:
        content = rest(connected(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX-"))
    assert content.count(b"HTTP/1.1 ") == 1


def test_an_answer_that_is_not_read_makes_room() -> None:
    with serving(ConnectionLimits(most=1)) as port, connected(port, b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n") as client:
        assert client.recv(1)
        assert status(port) == 200
        assert len(rest(client)) < len(_LONG)


@pytest.mark.linux
def test_of_too_many_the_oldest_of_the_busiest_address_makes_room() -> None:
    with serving(ConnectionLimits(most=3)) as port:
        other = socket.create_connection(("127.0.0.1", port), timeout=600, source_address=("127.0.0.2", 0))
        first, second = connected(port), connected(port)
        assert status(port) == 200
        assert rest(first).startswith(b"HTTP/1.1 503 ")
        for client in (second, other):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert rest(client).startswith(b"HTTP/1.1 200 ")


def test_headers_are_limited() -> None:
    with serving(ConnectionLimits(most=10)) as port:
        assert rest(connected(port, b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000)).startswith(b"HTTP/1.1 400 ")


def test_half_of_the_files_of_a_process_are_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((256, 128), (_OPEN_FILES, 512), (10**6, 512), (resource.RLIM_INFINITY, 512)):
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, files=files: (files, files))
        assert ConnectionLimits.of_process().most == most
