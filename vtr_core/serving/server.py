"""A server whose socket is bound at construction, before requests are served."""

import gc
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from vtr_core.errors import ConfigError
from vtr_core.serving.address import Address
from vtr_core.serving.garbage import spare_loaded

_SECONDS_TO_END = 5
"""Seconds that requests in progress get at shutdown."""


class AppServer:
    """HTTP server bound at construction, so that its port is known and an occupied port is an error; `run` serves.

    app: makes the application for the bound address. Port 0 selects a free port. ConfigError if the address cannot be
    bound.
    """

    def __init__(self, host: str, port: int, app: Callable[[Address], ASGIApp]) -> None:
        self._socket = _listening(host, port)
        self.address = Address(host, self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                app(self.address),
                log_config=None,
                log_level="warning",
                access_log=False,  # queries are private
                server_header=False,
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
