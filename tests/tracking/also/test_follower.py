"""Another tracker gets every point of metrics.jsonl once, and its faults cost the run nothing."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tracking.also.pages import page, write_metrics
from vtr_core.errors import ConfigError
from vtr_core.tracking import other_trackers as follower
from vtr_core.tracking.other_trackers import Followers
from vtr_core.tracking.run import Status
from vtr_core.tracking.run_log import Line


class Kept:
    """A tracker in memory; it refuses the first `refusals` calls."""

    def __init__(self, refusals: int = 0) -> None:
        self.steps: list[int] = []
        self.status: Status | None = None
        self.refusals, self.closing = refusals, threading.Event()
        self.closing.set()

    def log(self, line: Line) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError("the service is away")
        self.steps.append(line["step"])

    def finish(self, status: Status) -> None:
        assert self.closing.wait(600)
        self.status = status


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Kept], Followers]:
    """Begins to follow the run in `tmp_path`."""

    def begin(kept: Kept) -> Followers:
        monkeypatch.setattr(follower, "open_tracker", lambda kind, page: kept)
        monkeypatch.setattr(follower, "SEND_EVERY_S", 0.02)
        followers = Followers(["wandb"], page(tmp_path))
        followers.begin()
        return followers

    return begin


def test_points_come_during_the_run_and_once(begun: Callable[[Kept], Followers], tmp_path: Path) -> None:
    write_metrics(tmp_path, 1, 2)
    kept = Kept(refusals=2)
    followers = begun(kept)
    deadline = time.monotonic() + 3600
    while len(kept.steps) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    write_metrics(tmp_path, 1, 2, 2, 3)  # a step that was done again
    followers.end("KILLED")
    assert kept.steps == [1, 2, 3]
    assert kept.status == "KILLED"


def test_a_tracker_that_fails_is_reported(
    begun: Callable[[Kept], Followers], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_metrics(tmp_path, 1)
    begun(Kept(refusals=10**9)).end("FINISHED")
    assert "wandb did not take everything: the service is away" in caplog.text


def test_one_that_hangs_is_waited_for_as_long_as_is_said(
    begun: Callable[[Kept], Followers],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_metrics(tmp_path, 1)
    monkeypatch.setenv("VTR_TRACKER_PATIENCE_S", "0")
    kept = Kept()
    kept.closing.clear()
    begun(kept).end("FINISHED")
    assert "wandb was slower than 0 s (VTR_TRACKER_PATIENCE_S)" in caplog.text
    kept.closing.set()


def test_a_patience_that_is_no_number_is_told_at_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VTR_TRACKER_PATIENCE_S", "long")
    with pytest.raises(ConfigError, match="VTR_TRACKER_PATIENCE_S is 'long'"):
        Followers([], page(tmp_path))
