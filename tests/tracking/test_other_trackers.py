"""Trackers beside MLflow get every point of metrics.jsonl once, and their faults cost the run nothing."""

import importlib.util
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.optional import optional
from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.tracking import other_trackers
from vtr_core.tracking.other_trackers import Followers, RunPage, open_tracker, require_trackers
from vtr_core.tracking.run import Status
from vtr_core.tracking.run_log import Line


def page(folder: Path, group: str | None = None) -> RunPage:
    return RunPage(
        folder=locate(str(folder)),
        identity="0123456789abcdef",
        name="abcdefg-tiny",
        experiment="vtr",
        group=group,
        note="Training of `tiny`.",
        settings={"batch.videos": 8, "data": "s3://key:secret@host/data"},
    )


def lines(*steps: int) -> list[Line]:
    """Lines of metrics.jsonl."""
    return [{"step": step, "time": 1000.0 + step, "train/loss": 1 / step, "val/x": 0.5} for step in steps]


def write_metrics(folder: Path, *steps: int) -> None:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines(*steps)))


class Memory:
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
def follow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Memory], Followers]:
    """Begins to follow the run in `tmp_path`."""

    def begin(memory: Memory) -> Followers:
        monkeypatch.setattr(other_trackers, "open_tracker", lambda kind, page: memory)
        monkeypatch.setattr(other_trackers, "SEND_EVERY_S", 0.02)
        followers = Followers(["wandb"], page(tmp_path))
        followers.begin()
        return followers

    return begin


def test_points_come_during_the_run_and_once(follow: Callable[[Memory], Followers], tmp_path: Path) -> None:
    write_metrics(tmp_path, 1, 2)
    memory = Memory(refusals=2)
    followers = follow(memory)
    deadline = time.monotonic() + 3600
    while len(memory.steps) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    write_metrics(tmp_path, 1, 2, 2, 3)  # a step that was done again
    followers.end("KILLED")
    assert (memory.steps, memory.status) == ([1, 2, 3], "KILLED")


def test_one_that_fails_or_hangs_is_reported(
    follow: Callable[[Memory], Followers],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_metrics(tmp_path, 1)
    follow(Memory(refusals=10**9)).end("FINISHED")
    assert "wandb did not take everything: the service is away" in caplog.text
    monkeypatch.setenv("VTR_TRACKER_PATIENCE_S", "0")
    hanging = Memory()
    hanging.closing.clear()
    follow(hanging).end("FINISHED")
    assert "wandb was slower than 0 s (VTR_TRACKER_PATIENCE_S)" in caplog.text
    hanging.closing.set()


def test_event_files_have_every_point_once_after_a_resumption(tmp_path: Path) -> None:
    """Read back by TensorBoard's own reader."""
    reading = optional("tensorboard.backend.event_processing.event_accumulator", "tensorboard")
    for steps in ((1, 2), (1, 2, 4)):
        files = open_tracker("tensorboard", page(tmp_path))
        for line in lines(*steps):
            files.log(line)
        files.finish("FINISHED")
    events = reading.EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss", "val/x"]
    points = [(point.step, point.value, point.wall_time) for point in events.Scalars("train/loss")]
    assert points == [(1, 1.0, 1001.0), (2, 0.5, 1002.0), (4, 0.25, 1004.0)]
    (text,) = events.Tensors("run/text_summary")[0].tensor_proto.string_val
    assert b"Training of `tiny`." in text
    assert b'"batch.videos": 8' in text
    assert b"secret" not in text


class Wandb(SimpleNamespace):
    """W&B's interface, as far as it is used; `first` is the step that its server has reached."""

    def __init__(self, first: int) -> None:
        super().__init__(Settings=SimpleNamespace, starting_step=first, logged=[])

    def init(self, **about: Any) -> "Wandb":
        self.about = about
        return self

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))

    def finish(self, exit_code: int) -> None:
        self.exit_code = exit_code


def test_a_run_of_wandb_goes_on_where_its_server_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = Wandb(first=2)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    run = open_tracker("wandb", page(tmp_path, group="sweep-1"))
    for line in lines(1, 2, 5):
        run.log(line)
    run.finish("FAILED")
    about = wandb.about
    assert (about["id"], about["project"], about["name"]) == ("0123456789abcdef", "vtr", "abcdefg-tiny")
    assert (about["group"], about["config"]["data"]) == ("sweep-1", "s3://key:***@host/data")
    assert wandb.logged == [
        (2, {"train/loss": 0.5, "val/x": 0.5, "_timestamp": 1002.0}),
        (5, {"train/loss": 0.2, "val/x": 0.5, "_timestamp": 1005.0}),
    ]
    assert wandb.exit_code == 1


def test_whether_trackers_can_be_used_is_said_before_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require_trackers(["tensorboard"])
    with pytest.raises(ConfigError, match="--also tensorboard tensorboard names a tracker twice"):
        require_trackers(["tensorboard", "tensorboard"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="make install EXTRAS=wandb"):
        require_trackers(["tensorboard", "wandb"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(api=SimpleNamespace(api_key=None)))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with pytest.raises(ConfigError, match="set WANDB_API_KEY, or WANDB_MODE=offline"):
        require_trackers(["wandb"])
    monkeypatch.setenv("WANDB_MODE", "offline")
    require_trackers(["wandb"])
    monkeypatch.setenv("VTR_TRACKER_PATIENCE_S", "long")
    with pytest.raises(ConfigError, match="VTR_TRACKER_PATIENCE_S is 'long'"):
        Followers([], page(tmp_path))
