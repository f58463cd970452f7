"""Just a node's own processes are found and killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.local_cluster.processes import end, in_session, parents, started_at, with_descendants, with_files_in

pytestmark = pytest.mark.linux  # /proc


def test_descendants_of_descendants_count() -> None:
    parent_of = {2: 1, 3: 2, 4: 3, 5: 1, 6: 5, 7: 4}
    assert with_descendants({2}, parent_of) == {2, 3, 4, 7}
    assert with_descendants({3, 6}, parent_of) == {3, 4, 6, 7}
    assert with_descendants(set(), parent_of) == set()


def test_processes_with_files_in_a_folder_and_their_children(tmp_path: Path) -> None:
    own, other = tmp_path / "1", tmp_path / "10"
    own.mkdir()
    other.mkdir()
    with (own / "log").open("w") as log, (other / "log").open("w") as elsewhere:
        ours = subprocess.Popen(["sh", "-c", "sleep 60 >/dev/null & wait"], stdout=log)
        others = subprocess.Popen(["sleep", "60"], stdout=elsewhere)
    try:
        while len(parents_of(ours.pid)) == 0:
            time.sleep(0.01)
        assert with_files_in(own) == {ours.pid, *parents_of(ours.pid)}
        end(lambda: with_files_in(own))
        ours.wait(timeout=60)
        assert others.poll() is None
    finally:
        for process in (ours, others):
            process.kill()
            process.wait(timeout=60)


def parents_of(pid: int) -> set[int]:
    """The children of a process."""
    return {child for child, parent in parents().items() if parent == pid}


def test_a_zombie_is_gone() -> None:
    process = subprocess.Popen(["true"])
    while started_at(process.pid) is not None:
        time.sleep(0.01)
    assert Path(f"/proc/{process.pid}").exists()
    assert process.pid not in parents()
    process.wait()


def test_processes_that_have_ended_by_themselves_are_no_fault() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    answers = [{process.pid}, set[int]()]
    end(lambda: answers.pop(0))
    assert not answers


def test_a_killed_process_is_waited_for() -> None:
    """SIGKILL is sent at once, and the process is still there for a moment."""
    process = subprocess.Popen(["sleep", "60"])
    end(lambda: {process.pid} & parents().keys())
    assert started_at(process.pid) is None
    assert process.wait(timeout=60) == -signal.SIGKILL


def test_a_process_is_told_by_its_start() -> None:
    assert started_at(os.getpid()) == started_at(os.getpid())
    assert started_at(2**22 + 1) is None


def test_processes_of_a_session_have_groups_of_their_own() -> None:
    apart = "import subprocess, time; subprocess.Popen(['sleep', '60'], process_group=0); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", apart], start_new_session=True)
    try:
        while len({os.getpgid(pid) for pid in in_session(process.pid)}) < 2:
            time.sleep(0.01)
        assert process.pid in in_session(process.pid)
    finally:
        end(lambda: in_session(process.pid))
    assert process.wait(timeout=60) == -signal.SIGKILL
