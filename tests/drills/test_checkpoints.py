"""Faults around checkpoints: a process that dies while it writes one, a full disk, files cut short by a crash."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.train.command import resume
from tests.drills import runs
from tests.drills.conftest import Record, Undisturbed
from tests.drills.small_disk import SmallDisk

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
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record
) -> None:
    expected, run, mark = undisturbed(), tmp_path / "run", tmp_path / "killed"
    (tmp_path / "sitecustomize.py").write_text(KILLER.format(mark=str(mark)))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    process = runs.start(world, run, runs.config(**EVERY_STEP), PYTHONPATH=path)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    assert "model.safetensors" in mark.read_text()
    assert "checkpoint.json" not in mark.read_text()
    again = re.search(r"resumed at step 4 with 1 worker, (\d+) steps? done again", output)
    assert again is not None, output
    assert int(again[1]) in (1, 2), "training goes on while a checkpoint is written, up to the next one"
    runs.assert_equal_runs(expected, run)
    record("SIGKILL in the middle of writing a checkpoint", "by itself", run, mark.stat().st_mtime)


def test_files_that_a_crash_cut_short(world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record) -> None:
    """The last lines of the logs, best.json and a checkpoint, as a machine that loses power may leave them."""
    expected, run = undisturbed(), tmp_path / "run"
    process = runs.start(world, run, runs.config(**EVERY_STEP))
    runs.wait_until(lambda: runs.has_checkpoint(run, "step-0000000[3-5]"), process)
    fault = runs.kill_group(process)
    for log in ("metrics.jsonl", "events.jsonl"):
        with (run / log).open("a") as file:
            file.write('{"step": 6, "ti')
    (run / "checkpoints" / "best.json").write_text('{"check')
    half = run / "checkpoints" / "step-00000009"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    resume(str(run))
    runs.assert_equal_runs(expected, run)
    best = (run / "checkpoints" / "best.json").read_text()
    assert best == (expected / "checkpoints" / "best.json").read_text()
    record("logs, best.json and a checkpoint cut short by a crash", "vtr train --resume", run, fault)


@pytest.fixture
def disk(tmp_path: Path, undisturbed: Undisturbed) -> Iterator[SmallDisk]:
    """Room for three checkpoints, not for four."""
    one = sum(file.stat().st_size for file in (undisturbed() / "checkpoints" / f"step-{runs.STEPS:08d}").iterdir())
    with SmallDisk.mounted(tmp_path / "disk", f"{one * 36 // 10240}k") as disk:
        yield disk


def test_a_full_disk_that_is_freed_in_time(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record, disk: SmallDisk
) -> None:
    longer = {"training.epochs": 25}
    expected, run = undisturbed(runs.config(**longer)), disk.folder / "run"
    process = runs.start(
        world, run, runs.config(**longer, **EVERY_STEP, **{"training.keep_checkpoints": 90}), disk.wrap
    )
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
    runs.assert_equal_runs(expected, disk.seen / "run", 50)
    failed = [event["step"] for event in runs.events(disk.seen / "run", "checkpoint_failed")]
    assert failed == list(range(failed[0], failed[-1] + 1))
    assert not runs.events(disk.seen / "run", "resumed")
    assert fault
    record("disk full at a checkpoint, freed during the run", "by itself, no restart")


def test_a_full_disk_at_the_end(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record, disk: SmallDisk
) -> None:
    expected, run = undisturbed(), disk.folder / "run"
    process = runs.start(world, run, runs.config(**EVERY_STEP, **{"training.keep_checkpoints": 90}), disk.wrap)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 2, output
    good = sorted(path.parent.name for path in disk.seen.glob("run/checkpoints/step-*/checkpoint.json"))
    assert good
    assert good[-1] < f"step-{runs.STEPS:08d}"
    error = output.splitlines()[-1]
    assert error.startswith(f"vtr train: TrainingError: the last checkpoint, of step {runs.STEPS}, is lost: ")
    assert f"the newest good one is {run}/checkpoints/{good[-1]}; free space" in error
    fault = time.time()
    disk.grow("200m")
    process = runs.start_resume(run, disk.wrap)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    runs.assert_equal_runs(expected, disk.seen / "run")
    record("disk full up to the last checkpoint", "freed, vtr train --resume", disk.seen / "run", fault)
