"""Which Host headers name a server, and who can reach it."""

from vtr_core.serving.server import Address, is_loopback


def test_hosts_of_a_server_for_others() -> None:
    assert Address("0.0.0.0", 80).is_named_by("192.168.1.7:80")
    assert Address("0.0.0.0", 80).is_named_by("192.168.1.7")
    assert Address("box.lan", 80).is_named_by("box.lan:80")
    assert not Address("0.0.0.0", 80).is_named_by("evil.example:80")


def test_hosts_of_a_server_for_this_machine() -> None:
    assert Address("127.0.0.1", 80).is_named_by("localhost")
    assert not Address("127.0.0.1", 80).is_named_by("192.168.1.7:80")
    assert not Address("127.0.0.1", 80).is_named_by(None)


def test_what_only_this_machine_reaches() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "10.0.0.1", "x"))


def test_the_url_is_one_for_a_browser() -> None:
    assert Address("127.0.0.1", 8000).url == "http://127.0.0.1:8000/"
    assert Address("::1", 8000).url == "http://[::1]:8000/"
