"""Two drivers, one output."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.train.command import TrainFlags, resume, train
from tests.drills.conftest import Undisturbed
from tests.drills.outcome import Outcome
from tests.drills.runs import assert_equal_runs, config, has_checkpoint, start
from vtr_core.errors import RunConflict

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]


def test_of_two_runs_into_one_output_one_is_refused(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None]
) -> None:
    expected, run = undisturbed(config(**{"training.epochs": 20})), tmp_path / "run"
    longer = config(**{"training.epochs": 20, "training.checkpoint_every": 1})
    both = [start(world, run, longer) for _ in range(2)]
    deadline = time.monotonic() + 3600
    while not has_checkpoint(run):
        assert any(process.poll() is None for process in both)
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(RunConflict, match=r"being written by process \d+ on .* since 20"):
        resume(str(run))
    with pytest.raises(RunConflict, match="already holds a run"):
        train(longer, TrainFlags(data=str(world), out=str(run)))
    outputs = [process.communicate(timeout=3600)[0] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], outputs
    refused = next(output for process, output in zip(both, outputs, strict=True) if process.returncode == 2)
    assert "vtr train: RunConflict: " in refused
    assert "Traceback" not in refused
    assert_equal_runs(expected, run, 40)
    record(Outcome("two runs into one output", "the second refuses", 0, None))
