"""How a command gets its Ray, with Ray's own start played here."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from pipelines import ray_session
from vtr_core.errors import ClusterError


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., None]], None]:
    """Puts another start in place of Ray's."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_session.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray_session.ray_private, "started_last", lambda: None)
    return lambda start: monkeypatch.setattr(ray_session.ray, "init", start)


@pytest.mark.parametrize(("patience_s", "expected"), [("300", 10), ("45", 2), ("0", 1)])
def test_servers_that_do_not_come_up_are_one_line(
    patience_s: str, expected: int, play: Callable[[Callable[..., None]], None], monkeypatch: pytest.MonkeyPatch
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


def test_servers_that_were_slow_are_started_again(
    play: Callable[[Callable[..., None]], None], caplog: pytest.LogCaptureFixture
) -> None:
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
    play: Callable[[Callable[..., None]], None],
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
    variable: str,
    inherited: str | None,
    play: Callable[[Callable[..., None]], None],
    monkeypatch: pytest.MonkeyPatch,
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
    play: Callable[[Callable[..., None]], None],
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
    play: Callable[[Callable[..., None]], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[dict[str, Any]] = []
    play(lambda **settings: asked.append(settings))
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(ray_session.ray_private, "started_last", lambda: there)
        ray_session.connect()
    assert [settings["address"] for settings in asked] == [None]
    assert not caplog.records
