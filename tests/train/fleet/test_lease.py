"""One driver at a time writes a run folder."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vtr_core.errors import RunConflict
from vtr_core.storage import locate
from vtr_core.train.fleet import lease
from vtr_core.train.fleet.lease import Lease, is_held, may_be_held

BEAT_S = 0.1


def held_by(run: Path, number: int, **changes: object) -> Path:
    """A lease that another process left."""
    file = run / "owner" / f"{number:08d}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**dataclasses.asdict(lease._self()), **changes}))
    return file


def test_the_second_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    with (
        Lease.take(locate(str(tmp_path))),
        pytest.raises(RunConflict, match=r"written by process \d+ on .+ since 20\d\d"),
    ):
        Lease.take(locate(str(tmp_path)))


def test_a_released_folder_is_free(tmp_path: Path) -> None:
    numbers = []
    for _ in range(3):
        with Lease.take(locate(str(tmp_path))) as taken:
            numbers.append(taken.number)
            assert is_held(locate(str(tmp_path / "owner")), taken.number)
    assert numbers == [1, 2, 3]
    assert len(list((tmp_path / "owner").iterdir())) == 1


def no_waiting(seconds: float) -> None:
    raise AssertionError("there is nothing to wait for")


def test_a_dead_process_of_this_machine_is_taken_over_from_at_once(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # ended and not waited for: a zombie still has its number
    held_by(tmp_path, 4, pid=ended.pid, process_start="1")
    with Lease.take(locate(str(tmp_path)), sleep=no_waiting) as taken:
        assert taken.number == 5
    ended.wait()


def test_a_number_that_another_process_has_by_now_is_no_sign_of_life(tmp_path: Path) -> None:
    held_by(tmp_path, 1, process_start="1")
    assert not may_be_held(locate(str(tmp_path)))
    with Lease.take(locate(str(tmp_path)), sleep=no_waiting) as taken:
        assert taken.number == 2


@pytest.mark.parametrize("unreadable", [False, True])
def test_a_silent_holder_is_taken_over_from(unreadable: bool, tmp_path: Path) -> None:
    file, slept = held_by(tmp_path, 1, machine="elsewhere"), list[float]()
    if unreadable:
        file.write_text("")
    with Lease.take(locate(str(tmp_path)), heartbeat_s=10.0, sleep=slept.append) as taken:
        assert taken.number == 2
    assert sum(slept) == pytest.approx(35)


def test_a_holder_whose_file_is_written_late_is_known_then(tmp_path: Path) -> None:
    """It made the file and had not yet filled it: a process of this machine that lives, not one that is silent."""
    held_by(tmp_path, 1).write_text("")
    with pytest.raises(RunConflict, match=r"written by process \d+"):
        Lease.take(locate(str(tmp_path)), sleep=lambda _: held_by(tmp_path, 1))


def test_a_holder_elsewhere_that_releases_meanwhile_is_gone(tmp_path: Path) -> None:
    held_by(tmp_path, 1, machine="elsewhere")
    with Lease.take(locate(str(tmp_path)), sleep=lambda _: held_by(tmp_path, 1, released=True)) as taken:
        assert taken.number == 2


def test_a_heartbeat_elsewhere_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_machine", lambda: threading.current_thread().name)
    with Lease.take(locate(str(tmp_path)), BEAT_S):
        held_by(tmp_path, 1, machine="elsewhere", host="node7")
        with pytest.raises(RunConflict, match="on node7 since"):
            Lease.take(locate(str(tmp_path)), heartbeat_s=600.0)


def test_whoever_was_taken_over_from_stops(tmp_path: Path) -> None:
    run = locate(str(tmp_path))
    first = Lease.take(run, BEAT_S)
    first.check()
    held_by(tmp_path, 2, pid=77)
    first._thread.join(timeout=3600)
    with pytest.raises(RunConflict, match="taken over by process 77"):
        first.check()
    assert not is_held(run / "owner", first.number)


def test_of_many_at_once_one_succeeds(tmp_path: Path) -> None:
    held_by(tmp_path, 1, process_start="1")
    taken: list[Lease] = []
    refused: list[RunConflict] = []
    start = threading.Barrier(8)

    def take() -> None:
        start.wait()
        try:
            taken.append(Lease.take(locate(str(tmp_path))))
        except RunConflict as error:
            refused.append(error)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 7)
