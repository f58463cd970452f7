"""A server whose socket is bound before requests are served, its address, and its collections of garbage."""

import gc
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from vtr_core.errors import ConfigError
from vtr_core.serving.connections import HEAD_BYTES, ConnectionLimits, Connections


@dataclass(frozen=True)
class Address:
    """The host that a server listens on as requested, and its actual port."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address for a browser."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/"

    def is_named_by(self, header: str | None) -> bool:
        """Whether a request's Host header names this server.

        On a loopback address, the valid names are that address, localhost and other loopback addresses; elsewhere
        also any numeric address and this machine's name. Names that others control are refused.
        """
        try:
            parts = urlsplit(f"//{header or ''}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port or not name or parts.username is not None or parts.path:
            return False
        if name == self.host.lower() or is_loopback(name):
            return True
        return not is_loopback(self.host) and (_in_digits(name) is not None or name == socket.gethostname().lower())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is served on `host`."""
    address = _in_digits(host)
    return host == "localhost" if address is None else address.is_loopback


def _in_digits(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def spare_loaded() -> None:
    """Collect garbage once, and leave all objects that there are now out of later collections.

    A full collection visits every object of torch, Arrow and this package, while no request is answered: 150 ms every
    few seconds of load (`benchmarks.serving`), for objects that live as long as the process.
    """
    gc.collect()
    gc.freeze()


_SECONDS_TO_END = 5
"""Seconds that requests in progress get at shutdown."""


class AppServer:
    """HTTP server bound at construction, so that its port is known and an occupied port is an error; `run` serves.

    app: makes the application for the bound address. Port 0 selects a free port. limits: of connections, by default
    those of this process. ConfigError if the address cannot be bound.
    """

    def __init__(
        self, host: str, port: int, app: Callable[[Address], ASGIApp], limits: ConnectionLimits | None = None
    ) -> None:
        self._socket = _listening(host, port)
        self.address = Address(host, self._socket.getsockname()[1])
        connections = Connections(limits or ConnectionLimits.of_process())
        self._server = uvicorn.Server(
            uvicorn.Config(
                connections.watching(app(self.address)),
                http=connections.protocol,  # type: ignore[arg-type]  # called as the class would be
                h11_max_incomplete_event_size=HEAD_BYTES,
                backlog=connections.limits.backlog,
                log_config=None,
                log_level="error",  # others' requests that are no HTTP are no warning
                access_log=False,  # queries are private
                server_header=False,
                proxy_headers=False,  # who asks is who connects, whatever X-Forwarded-For says
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )

    def run(self) -> None:
        """Serve until `stop` is called or, in the main thread, until Ctrl-C, which is raised as KeyboardInterrupt.

        What is loaded by then is left out of collections of garbage until the server ends.
        """
        spare_loaded()
        try:
            self._server.run([self._socket])
        finally:
            gc.unfreeze()

    def stop(self) -> None:
        """Make `run` return; called from another thread."""
        self._server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot serve on {host} port {port} ({error}); give another --port, 0 for any") from error
