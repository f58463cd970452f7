"""The connections of a server: how many there are, and how long it waits for who is at their other end.

uvicorn waits for ever for the rest of a request, and for whoever does not read an answer. Here both take at most
`CLIENT_S` seconds, and where connections are as many as the process can hold, those that have waited for their client
the longest make room.
"""

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

CLIENT_S = 30.0
HEAD_BYTES, BODY_BYTES = 16_384, 65_536
"""Bytes of a request before its body, and of the body, at most."""
_CONNECTIONS, _BACKLOG = 512, 128
_CONNECTION = "connection"
"""The name of a request's connection in the state of its scope."""
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_NO_ROOM = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """What the clients of a server may take."""

    most: int
    """Connections that are open at the same time."""
    client_s: float = CLIENT_S
    """Seconds that a client has to send a request, headers and body, and again to read the answer."""

    @classmethod
    def of_process(cls) -> "ConnectionLimits":
        """Those that leave half of the files that this process may open to the index and to Python."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(_CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(_CONNECTIONS, files // 2)))

    @property
    def backlog(self) -> int:
        """Connections that are accepted at a time, in addition to the open ones, before any is closed."""
        return max(1, min(_BACKLOG, self.most // 4))


class Connections:
    """The open connections of one server; belongs to its event loop."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.open: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}
        """Those whose client has to send a request or to read an answer, the longest first."""

    def protocol(self, **settings: Any) -> "Connection":
        """A new connection, as uvicorn makes its own protocol."""
        return Connection(self, **settings)

    def make_room(self) -> None:
        """Close a connection where they are too many.

        Of those whose client has to act it is the oldest of the address with the most, which may be the new one: who
        opens many takes the room from itself alone.
        """
        if len(self.open) > self.limits.most and self.waiting:
            of_address = Counter(connection.address for connection in self.open)
            max(self.waiting, key=lambda connection: of_address[connection.address]).end(_NO_ROOM)

    def watching(self, app: ASGIApp) -> ASGIApp:
        """`app`, which gets requests that have arrived as a whole or are too large; answers have to be read in time."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            connection: Connection = scope["state"][_CONNECTION]
            arrived: Message | None = await _arrived(receive)
            if arrived is None:
                return
            connection.server_acts()

            async def received() -> Message:
                nonlocal arrived
                message, arrived = arrived, None
                return await receive() if message is None else message

            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start":
                    connection.answered = True
                    connection.client_acts()
                await send(message)

            try:
                await app(scope, received, sent)
            finally:
                connection.client_acts()

        return watched


async def _arrived(receive: Receive) -> Message | None:
    """The first message of a request, of its whole body or of more than is allowed; None where the client is gone."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False) or len(body) > BODY_BYTES:
            return {**message, "body": bytes(body)}


class Connection(H11Protocol):
    """uvicorn's protocol of one connection, with a limit of the time that its client takes.

    It is h11's, also where others are installed: theirs have no limit of the size of headers.
    """

    def __init__(self, connections: Connections, app_state: dict[str, Any], **settings: Any) -> None:
        super().__init__(app_state={**app_state, _CONNECTION: self}, **settings)
        self._connections = connections
        self._timer: asyncio.TimerHandle | None = None
        self.answered = False
        """Whether it had an answer, or the beginning of one."""

    @property
    def address(self) -> str:
        """The client's, without its port."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._connections.open.add(self)
        self.client_acts()
        self._connections.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()
        super().connection_lost(exc)

    def client_acts(self) -> None:
        """Wait for the client from now on, for so long and no longer."""
        self.server_acts()
        if not self.transport.is_closing():
            self._connections.waiting[self] = None
            self._timer = self.loop.call_later(self._connections.limits.client_s, self.end, _TOO_SLOW)

    def server_acts(self) -> None:
        """Wait for the client no more."""
        self._connections.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self, reason: bytes) -> None:
        """Close the connection, with a reason where it had no answer yet; what the client has not read is lost."""
        self._forget()
        if not self.answered:
            self.transport.write(reason)
        self.transport.abort()

    def _forget(self) -> None:
        self.server_acts()
        self._connections.open.discard(self)
