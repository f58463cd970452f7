"""A server's socket: taken and impossible ports are named, and Ctrl-C ends it."""

import pytest
from starlette.applications import Starlette

from vtr_core.errors import ConfigError
from vtr_core.serving.server import AppServer


@pytest.mark.parametrize("port", [None, 70000])
def test_a_port_that_cannot_be_had_is_named(port: int | None) -> None:
    server = AppServer("127.0.0.1", 0, lambda address: Starlette())
    with pytest.raises(ConfigError, match="give another --port"):
        AppServer("127.0.0.1", server.address.port if port is None else port, lambda address: Starlette())
    server.stop()
    server.run()
