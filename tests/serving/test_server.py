"""A server: taken and impossible ports are named, and what is loaded is not visited by collections of garbage."""

import gc
import http.client
from threading import Thread

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from vtr_core.errors import ConfigError
from vtr_core.serving.server import AppServer


@pytest.mark.parametrize("port", [None, 70000])
def test_a_port_that_cannot_be_had_is_named(port: int | None) -> None:
    server = AppServer("127.0.0.1", 0, lambda address: Starlette())
    with pytest.raises(ConfigError, match="give another --port"):
        AppServer("127.0.0.1", server.address.port if port is None else port, lambda address: Starlette())
    server.stop()
    server.run()


def test_what_is_loaded_is_no_garbage_while_it_serves() -> None:
    route = Route("/", lambda _request: PlainTextResponse(str(gc.get_freeze_count())))
    server = AppServer("127.0.0.1", 0, lambda address: Starlette(routes=[route]))
    alive = len(gc.get_objects())
    thread = Thread(target=server.run)
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.address.port, timeout=3600)
    connection.request("GET", "/")
    spared = int(connection.getresponse().read())
    connection.close()
    server.stop()
    thread.join()
    assert spared > alive / 2
    assert gc.get_freeze_count() == 0
