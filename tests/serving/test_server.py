"""A server: which hosts name it, ports that cannot be had, and what its collections of garbage leave out."""

import gc
import http.client
from threading import Thread

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from vtr_core.errors import ConfigError
from vtr_core.serving.server import Address, AppServer, is_loopback


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


def test_names_of_a_server() -> None:
    """On loopback its own names alone; elsewhere numeric addresses and its name, never one that others control."""
    everywhere, here = Address("0.0.0.0", 80), Address("127.0.0.1", 80)
    assert everywhere.is_named_by("192.168.1.7:80")
    assert everywhere.is_named_by("192.168.1.7")
    assert Address("box.lan", 80).is_named_by("box.lan:80")
    assert not everywhere.is_named_by("evil.example:80")
    assert here.is_named_by("localhost")
    assert here.is_named_by("[::1]")
    for other in (
        "192.168.1.7:80",
        "127.0.0.1:1",
        "localhost.evil.example",
        "evil.example",
        "a@127.0.0.1",
        ":80",
        None,
    ):
        assert not here.is_named_by(other)
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "10.0.0.1", "x"))
    assert (Address("127.0.0.1", 8000).url, Address("::1", 8000).url) == (
        "http://127.0.0.1:8000/",
        "http://[::1]:8000/",
    )
