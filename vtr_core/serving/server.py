"""An app on a socket that is bound before anything is served."""

import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from vtr_core.errors import ConfigError
from vtr_core.serving.address import Address

_SECONDS_TO_END = 5
"""How long requests in progress have when the server ends."""


class AppServer:
    """Bound when it is made, so that its port is known and a taken one is an error; it answers once `run` is called.

    app: makes the app, given the address that it has. Port 0 is any free one. ConfigError where the address cannot be
    served on.
    """

    def __init__(self, host: str, port: int, app: Callable[[Address], Starlette]) -> None:
        self._socket = _listening(host, port)
        self.address = Address(host, self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                app(self.address),
                log_config=None,
                log_level="warning",
                access_log=False,  # queries are nobody else's business
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )

    def run(self) -> None:
        """Serve until `stop` is called or, in the main thread, until Ctrl-C, which is raised as KeyboardInterrupt."""
        self._server.run([self._socket])

    def stop(self) -> None:
        """Have `run` return, from another thread."""
        self._server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot serve on {host} port {port} ({error}); give another --port, 0 for any") from error
