"""How a command gets its Ray, with Ray's own start played here."""

import signal
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
    monkeypatch.setattr(ray_session.ray, "is_initialized", lambda: False)
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


def test_other_faults_stay_what_they_are(play: Callable[[Callable[..., None]], None]) -> None:
    def start(**_: Any) -> None:
        raise ConnectionError("refused")

    play(start)
    with pytest.raises(ConnectionError):
        ray_session.connect()


def test_a_named_cluster_has_its_own_number_of_cpus(play: Callable[[Callable[..., None]], None]) -> None:
    asked: list[dict[str, Any]] = []

    def start(**settings: Any) -> None:
        asked.append(settings)
        if "num_cpus" in settings:
            raise ValueError("When connecting to an existing cluster, num_cpus must not be provided.")

    play(start)
    ray_session.connect(local_cpus=3)
    assert ["num_cpus" in settings for settings in asked] == [True, False]
