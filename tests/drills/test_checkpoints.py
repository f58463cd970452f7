"""Faults around checkpoints: a process that dies while it writes one, a full disk, files cut short by a crash."""

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.train.command import resume
from tests.drills.conftest import Undisturbed
from tests.drills.runs import (
    STEPS,
    assert_equal_runs,
    config,
    events,
    has_checkpoint,
    kill_group,
    seconds_to_recover,
    start,
    start_resume,
    steps_lost,
    wait_until,
)
from tests.drills.small_disk import SmallDisk
from tests.drills.table import Outcome

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
EVERY_STEP = {"training.checkpoint_every": 1}
KILLER = """
import os, signal, sys

def kill_once(event, arguments):
    if event == "open" and "step-00000005/checkpoint.json.part" in str(arguments[0]):
        folder = os.path.dirname(arguments[0])
        try:
            with open({mark!r}, "x") as mark:
                mark.write(" ".join(sorted(os.listdir(folder))))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill_once)
"""
"""Kills the first process that is about to write the marker of step 5's checkpoint, when all else of it is there."""


def test_a_worker_dies_in_the_middle_of_a_checkpoint(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None]
) -> None:
    expected, run, mark = undisturbed(), tmp_path / "run", tmp_path / "killed"
    (tmp_path / "sitecustomize.py").write_text(KILLER.format(mark=str(mark)))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    process = start(world, run, config(**EVERY_STEP), PYTHONPATH=path)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    assert "model.safetensors" in mark.read_text()
    assert "checkpoint.json" not in mark.read_text()
    again = re.search(r"resumed at step 4 with 1 worker, (\d+) steps? done again", output)
    assert again is not None, output
    assert int(again[1]) in (1, 2), "training goes on while a checkpoint is written, up to the next one"
    assert_equal_runs(expected, run)
    seconds = seconds_to_recover(run, mark.stat().st_mtime)
    record(Outcome("SIGKILL in the middle of writing a checkpoint", "by itself", steps_lost(run), seconds))


def test_files_that_a_crash_cut_short(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None]
) -> None:
    """The last lines of the logs, best.json and a checkpoint, as a machine that loses power may leave them."""
    expected, run = undisturbed(), tmp_path / "run"
    process = start(world, run, config(**EVERY_STEP))
    wait_until(lambda: has_checkpoint(run, "step-0000000[3-5]"), process)
    fault = kill_group(process)
    for log in ("metrics.jsonl", "events.jsonl"):
        with (run / log).open("a") as file:
            file.write('{"step": 6, "ti')
    (run / "checkpoints" / "best.json").write_text('{"check')
    half = run / "checkpoints" / "step-00000009"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    resume(str(run))
    assert_equal_runs(expected, run)
    best = (run / "checkpoints" / "best.json").read_text()
    assert best == (expected / "checkpoints" / "best.json").read_text()
    seconds = seconds_to_recover(run, fault)
    record(
        Outcome("logs, best.json and a checkpoint cut short by a crash", "vtr train --resume", steps_lost(run), seconds)
    )


@pytest.fixture
def disk(tmp_path: Path, undisturbed: Undisturbed) -> Iterator[SmallDisk]:
    """Room for three checkpoints, not for four."""
    one = sum(file.stat().st_size for file in (undisturbed() / "checkpoints" / f"step-{STEPS:08d}").iterdir())
    with SmallDisk.mounted(tmp_path / "disk", f"{one * 36 // 10240}k") as disk:
        yield disk


def test_a_full_disk_that_is_freed_in_time(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None], disk: SmallDisk
) -> None:
    longer = {"training.epochs": 25}
    expected, run = undisturbed(config(**longer)), disk.folder / "run"
    process = start(world, run, config(**longer, **EVERY_STEP, **{"training.keep_checkpoints": 90}), disk.wrap)
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if "no checkpoint at step" in line:
            fault = time.time()
            disk.grow("200m")
            break
    output = "".join([*lines, *process.stdout])
    assert process.wait() == 0, output
    assert "No space left on device" in output
    assert "MB are free" in output
    assert_equal_runs(expected, disk.seen / "run", 50)
    failed = [event["step"] for event in events(disk.seen / "run", "checkpoint_failed")]
    assert failed == list(range(failed[0], failed[-1] + 1))
    assert not events(disk.seen / "run", "resumed")
    assert fault
    record(Outcome("disk full at a checkpoint, freed during the run", "by itself, no restart", 0, None))


def test_a_full_disk_at_the_end(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None], disk: SmallDisk
) -> None:
    expected, run = undisturbed(), disk.folder / "run"
    process = start(world, run, config(**EVERY_STEP, **{"training.keep_checkpoints": 90}), disk.wrap)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 2, output
    good = sorted(path.parent.name for path in disk.seen.glob("run/checkpoints/step-*/checkpoint.json"))
    assert good
    assert good[-1] < f"step-{STEPS:08d}"
    error = output.splitlines()[-1]
    assert error.startswith(f"vtr train: TrainingError: the last checkpoint, of step {STEPS}, is lost: ")
    assert f"the newest good one is {run}/checkpoints/{good[-1]}; free space" in error
    fault = time.time()
    disk.grow("200m")
    process = start_resume(run, disk.wrap)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    assert_equal_runs(expected, disk.seen / "run")
    lost, seconds = steps_lost(disk.seen / "run"), seconds_to_recover(disk.seen / "run", fault)
    record(Outcome("disk full up to the last checkpoint", "freed, vtr train --resume", lost, seconds))
