"""The log of a run: lines are whole, in order and once, in the files and in MLflow, whatever fails in between."""

import errno
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from mlflow import MlflowClient

from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.tracking.run import Point, TrackedRun, open_run
from vtr_core.tracking.run_log import EventLog, JsonLines, MetricLog, read_lines
from vtr_core.tracking.store import full_tracking_uri


def lines(path: Path) -> JsonLines:
    return JsonLines(locate(str(path)))


def test_lines_are_appended_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.jsonl"
    lines(path).append({"a": 1})
    lines(path).append({"a": "line\nbreak"})
    assert lines(path).read() == read_lines(locate(str(path))) == [{"a": 1}, {"a": "line\nbreak"}]


@pytest.mark.parametrize("torn", ['{"a": 3', '{"a": 3}', "[1]\n", "\0\0\n", '{"a": 3}{"a"\n'])
def test_what_a_crash_left_is_cut_off(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n' + torn)
    assert read_lines(locate(str(path))) == [{"a": 1}, {"a": 2}]
    lines(path).append({"a": 4})
    assert path.read_text() == '{"a": 1}\n{"a": 2}\n{"a": 4}\n'


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> Iterator[None]:
    """Appending writes `room` bytes and then fails."""
    opened = Path.open

    def short(self: Path, mode: str = "r", *arguments: int) -> object:
        file = opened(self, mode, *arguments)
        if mode == "ab":
            file.write(b"x" * room)
            file.flush()
            file.close()
            raise OSError(errno.ENOSPC, "No space left on device")
        return file

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", short)
        yield


def test_what_a_full_disk_refuses_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    log = lines(path)
    log.append({"a": 1})
    with full_disk(monkeypatch, room=3):
        log.append({"a": 2})
        log.append({"a": 3})
        with pytest.raises(OSError, match="No space left"):
            log.publish()
    assert path.read_text() == '{"a": 1}\n'
    assert [line["a"] for line in log.read()] == [1, 2, 3]
    log.append({"a": 4})
    assert [line["a"] for line in lines(path).read()] == [1, 2, 3, 4]


def test_events_have_time_and_details_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "run" / "events.jsonl"
    log = EventLog(locate(str(path)))
    log.add("started", step=0, workers=2)
    log.add("not_finite", step=3, clips=["c"])
    log.add("not_finite", step=4, clips=[])
    assert log.counts == {"started": 1, "not_finite": 2}
    again = EventLog(locate(str(path)))
    again.add("resumed", step=2, steps_lost=2, workers=1)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found == again.read()
    assert [event["event"] for event in found] == ["started", "not_finite", "not_finite", "resumed"]
    assert found[1] == {"time": found[1]["time"], "event": "not_finite", "step": 3, "clips": ["c"]}
    assert found[0]["time"] <= found[3]["time"]
    assert again.counts == {"resumed": 1}


def written(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class _Flaky(TrackedRun):
    """A store that is away for the first two calls."""

    calls: list[int] = []  # noqa: RUF012

    def steps(self, name: str) -> set[int]:
        return set()

    def log_points(self, points: Sequence[Point]) -> None:
        self.calls.append(points[0].step)
        if len(self.calls) <= 2:
            raise OSError("away")


def test_points_wait_while_mlflow_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.tracking.run_log._FIRST_PAUSE_S", 0.01)
    log = MetricLog(locate(str(tmp_path / "metrics.jsonl")), _Flaky("", "", ""))
    log.add({"a": 1.0}, 1)
    log.add({"a": 2.0}, 2)
    deadline = time.monotonic() + 3600
    while len(_Flaky.calls) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert log.close()
    assert _Flaky.calls == [1, 1, 1, 2]


class _Away(TrackedRun):
    """A store that never answers."""

    def steps(self, name: str) -> set[int]:
        raise OSError("away")


def test_a_store_that_stays_away_does_not_hold_the_end_of_a_run(tmp_path: Path) -> None:
    log = MetricLog(locate(str(tmp_path / "metrics.jsonl")), _Away("", "", ""))
    log.add({"a": 1.0}, 1)
    assert not log.close()
    assert [line["step"] for line in written(tmp_path / "metrics.jsonl")] == [1]


def test_a_resumed_log_sends_what_mlflow_lacks_and_nothing_twice(tmp_path: Path, tracking_store: str) -> None:
    path = tmp_path / "metrics.jsonl"
    run = open_run(tracking_store, "vtr", "name", {})
    assert run is not None
    path.write_text("".join(json.dumps({"step": s, "time": 10.0 + s, "a": s / 2}) + "\n" for s in (1, 2, 3, 4)))
    run.log_metrics({"a": 1.0}, 2, 12_000)
    run.log_metrics({"a": 2.0}, 4, 14_000)
    log = MetricLog(locate(str(path)), run, after_step=3)
    assert log.steps_lost == 1
    log.add({"a": 2.0, "b": 7.0}, 4)
    assert log.close()
    history = MlflowClient(tracking_store).get_metric_history(run.run_id, "a")
    assert sorted((m.step, m.value, m.timestamp) for m in history) == [
        (1, 0.5, 11_000),
        (2, 1.0, 12_000),
        (3, 1.5, 13_000),
        (4, 2.0, 14_000),
    ]
    assert [m.value for m in MlflowClient(tracking_store).get_metric_history(run.run_id, "b")] == [7.0]


def test_no_secret_reaches_mlflow_or_a_message(tracking_store: str, caplog: pytest.LogCaptureFixture) -> None:
    run = open_run(tracking_store, "vtr", "name", {"where": "s3://key:hidden@bucket"})
    assert run is not None
    run.log_params({"data": "s3://key:hidden@bucket/x"})
    data = MlflowClient(tracking_store).get_run(run.run_id).data
    assert data.tags["where"] == "s3://key:***@bucket"
    assert data.params["data"] == "s3://key:***@bucket/x"
    assert open_run("http://user:hidden@127.0.0.1:9", "vtr", "name", {}) is None
    assert "http://user:***@127.0.0.1:9" in caplog.text
    assert "hidden" not in caplog.text + repr(TrackedRun("http://user:hidden@h", "vtr", "r"))


def test_a_resumed_run_takes_the_password_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:hidden@h:5000")
    assert full_tracking_uri("http://user:***@h:5000") == "http://user:hidden@h:5000"
    assert full_tracking_uri("sqlite:///x.db") == "sqlite:///x.db"
    with pytest.raises(ConfigError, match=r"logged in http://user:\*\*\*@other.*set it to the run's store"):
        full_tracking_uri("http://user:***@other")
