"""How a command gets its Ray, with Ray's own start played here."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines import ray_session
from vtr_core.errors import ClusterError, ConfigError

Play = Callable[[Callable[..., None]], None]
"""Puts another start in place of Ray's."""


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_session.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray_session.ray_private, "started_last", lambda: None)
    monkeypatch.setattr(ray_session.ray_private, "head_fault", lambda _: None)
    return lambda start: monkeypatch.setattr(ray_session.ray, "init", start)


@pytest.mark.parametrize(("patience_s", "expected"), [("300", 10), ("45", 2), ("0", 1)])
def test_servers_that_do_not_come_up_are_one_line(
    patience_s: str, expected: int, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VTR_RAY_PATIENCE_S", patience_s)
    starts = []

    def start(**_: Any) -> None:
        starts.append(1)
        raise Exception("The current node timed out\nduring startup.")

    play(start)
    with pytest.raises(
        ClusterError, match=rf"on this machine: The current node timed out .* VTR_RAY_PATIENCE_S above {patience_s}$"
    ):
        ray_session.connect()
    assert len(starts) == expected


def test_servers_that_were_slow_are_started_again(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    servers = []

    def start(**_: Any) -> None:
        servers.append(subprocess.Popen(["sleep", "600"]))
        if len(servers) == 1:
            raise Exception("The current node timed out during startup.")

    play(start)
    ray_session.connect()
    assert "timed out during startup. It is started again" in caplog.text
    slow, quick = servers
    assert slow.wait() == -signal.SIGKILL
    assert quick.poll() is None
    quick.kill()
    quick.wait()


@pytest.mark.parametrize(
    ("variable", "told"),
    [("", "Ray     is started on this machine: "), ("10.0.0.1:6379", "Ray     at 10.0.0.1:6379\n")],
)
def test_what_is_waited_for_is_told_before(
    variable: str,
    told: str,
    play: Play,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", variable)
    before: list[str] = []
    play(lambda **_: before.append(capsys.readouterr().out))
    ray_session.connect()
    assert before[0].startswith(told)


@pytest.mark.parametrize(("variable", "inherited"), [("", "local"), ("local", "local"), ("10.0.0.1:6379", None)])
def test_a_new_ray_looks_for_no_other_one_and_a_named_one_has_its_own_cpus(
    variable: str, inherited: str | None, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What watches over a training would wait for the cluster of the last `ray start`, which may be gone."""
    asked: list[dict[str, Any]] = []
    play(lambda **settings: asked.append({**settings, "inherited": os.environ.get("RAY_ADDRESS")}))
    monkeypatch.setenv("RAY_ADDRESS", variable)
    ray_session.connect(local_cpus=3)
    assert os.environ["RAY_ADDRESS"] == variable
    (settings,) = asked
    assert settings["inherited"] == (inherited or variable)
    assert ("num_cpus" in settings) == (inherited is not None)


@pytest.mark.parametrize("last", ["127.0.0.1:{port}", "[::1]:{port}", "no address"])
def test_a_cluster_that_is_gone_is_not_waited_for(
    last: str,
    play: Play,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # free again when the server is closed
    gone = last.format(port=port)
    monkeypatch.setattr(ray_session.ray_private, "started_last", lambda: gone)
    asked: list[dict[str, Any]] = []
    play(lambda **settings: asked.append(settings))
    ray_session.connect()
    assert [settings["address"] for settings in asked] == ["local"]
    assert f"nothing answers at {gone}" in caplog.text


def test_a_cluster_that_answers_is_left_to_ray(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[dict[str, Any]] = []
    play(lambda **settings: asked.append(settings))
    monkeypatch.setattr(ray_session.ray_private, "started_last", lambda: "10.0.0.1:6379")
    monkeypatch.setattr(ray_session.ray_private, "is_gone", lambda _: False)
    ray_session.connect()
    assert [settings["address"] for settings in asked] == [None]
    assert not caplog.records


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:8265", "the URL of a dashboard, for vtr submit"),
        ("ray://127.0.0.1:10001", "an address of Ray Client: vtr submit"),
        ("redis://127.0.0.1:6379", "a URL of redis"),
        *(
            (address, "not host:port")
            for address in ("127.0.0.1", "::1", "here:port", "here:0", "here:99999", "here:1/")
        ),
        (" here:6379", "not host:port"),
    ],
)
def test_what_is_no_address_is_refused_at_once(
    address: str, said: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    play(lambda **_: pytest.fail("Ray would wait for it"))
    with pytest.raises(
        ConfigError, match=f"^RAY_ADDRESS is .*{said}.*; give the host:port that ray start --head prints"
    ):
        ray_session.connect()


def test_nobody_at_an_address_is_told_at_once(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    play(lambda **_: pytest.fail("Ray would wait for it"))
    monkeypatch.setattr(ray_session.ray_private, "head_fault", lambda address: f"nothing at {address}")
    with pytest.raises(ClusterError, match=r"at RAY_ADDRESS=127.0.0.1:1 \(nothing at 127.0.0.1:1\); give the host"):
        ray_session.connect()
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(ClusterError, match="RAY_ADDRESS is auto, and no cluster of `ray start` runs"):
        ray_session.connect()


@pytest.mark.parametrize("error", [ConnectionError("no node here"), RuntimeError("another Python")])
def test_a_cluster_that_refuses_is_one_line(error: Exception, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(**_: Any) -> None:
        raise error

    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    play(start)
    with pytest.raises(ClusterError, match=f"^Ray at 10.0.0.1:6379 does not take this command: {error}$"):
        ray_session.connect()


LONG = "/tmp/" + 34 * "é"
"""93 bytes and more are not rare; these are 73 in 39 letters."""


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "/tmp"),
        ({"TMPDIR": "/tmp/" + 34 * "a"}, "/tmp/" + 34 * "a"),
        ({"TMPDIR": "/tmp/" + 35 * "a"}, "/tmp"),
        ({"TMPDIR": LONG}, "/tmp"),
        ({"TMPDIR": LONG, "RAY_TMPDIR": "/var/tmp"}, "/var/tmp"),
        ({"TMPDIR": LONG, "RAY_TMPDIR": ""}, "/tmp"),
        ({"TMPDIR": "/tmp/é"}, "/tmp"),
        ({"TMPDIR": "/tmp/a b#%20"}, "/tmp/a b#%20"),
    ],
)
def test_rays_files_lie_where_the_names_of_its_sockets_fit(
    variables: dict[str, str],
    folder: str,
    play: Play,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("TMPDIR", "RAY_TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    asked: list[str] = []
    play(lambda **settings: asked.append(settings["_temp_dir"]))
    ray_session.connect()
    assert asked == [f"{folder}/ray"]
    is_left = "RAY_TMPDIR" not in variables and variables.get("TMPDIR", folder) != folder
    assert ("its files are below /tmp (RAY_TMPDIR names another folder)" in caplog.text) == is_left


def test_a_folder_of_rays_own_that_is_too_long_is_refused(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", LONG)
    play(lambda **_: pytest.fail("its sockets have no names"))
    with pytest.raises(ConfigError, match=r"^RAY_TMPDIR, /tmp/é+, is 34 bytes too long .*; name another folder"):
        ray_session.connect()


def test_a_folder_that_cannot_be_written_is_one_line(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(**settings: Any) -> None:
        os.makedirs(settings["_temp_dir"])

    monkeypatch.setenv("RAY_TMPDIR", "/dev/null")
    play(start)
    with pytest.raises(ClusterError, match=r"below /dev/null \(.*\); name another folder with RAY_TMPDIR$"):
        ray_session.connect()


@pytest.mark.parametrize(("gone", "server"), [("10.0.0.1:7", "this machine's node"), ("10.0.0.1:6", "the head")])
def test_the_loss_of_the_cluster_ends_what_the_main_thread_waits_for(
    gone: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's own calls would wait for ever."""
    node = {"NodeID": "n", "NodeManagerAddress": "10.0.0.1", "NodeManagerPort": 7}
    context = SimpleNamespace(gcs_address="10.0.0.1:6", get_node_id=lambda: "n")
    is_connected = threading.Event()
    is_connected.set()
    monkeypatch.setattr(ray_session.ray, "is_initialized", is_connected.is_set)
    monkeypatch.setattr(ray_session.ray, "get_runtime_context", lambda: context)
    monkeypatch.setattr(ray_session.ray, "nodes", lambda: [node])
    monkeypatch.setattr(ray_session.ray_private, "is_gone", lambda address: address == gone)
    monkeypatch.setattr(ray_session, "_LOOK_S", 0.01)
    before = signal.getsignal(ray_session._SIGNAL)
    watch = ray_session._Watch(own=True)
    try:
        with pytest.raises(ClusterError, match=f"^Ray is lost: {server} of the cluster at 10.0.0.1:6 does not answer"):
            watch.begin()
            threading.Event().wait(60)
    finally:
        is_connected.clear()
        watch.join(60)
        signal.signal(ray_session._SIGNAL, before)
