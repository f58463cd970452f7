"""Checkpoints by time: where the clock says so, and a run that goes on from one ends as if nothing had happened."""

import shutil
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import torch

from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.stream.assemble import read_directly
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.fleet.worker_group import Channel
from vtr_core.train.job import Job, WorkerContext
from vtr_core.train.loop.worker import Worker

STEPS, MINUTES = 10, 6
SMALL = {
    "batch.videos": 1,
    "batch.clips_per_video": 2,
    "training.epochs": 2,
    "training.validate_every": 2,
    "training.keep_checkpoints": STEPS,
    "scaling.workers": 0,
    "model.num_capsules": 4,
    "model.embedding_dim": 16,
    "model.words.hidden_dim": 16,
}


class Quiet(Channel):
    """A channel to nobody, who never asks to stop."""

    def __init__(self) -> None:
        pass

    def report(self, report: dict[str, object]) -> None:
        pass

    def watch(self) -> "Quiet":  # type: ignore[override]
        return self

    def requested(self) -> bool:
        return False


def run_to_the_end(place: Path, config: TrainConfig, data: str) -> RunFolder:
    """By a worker that finds six minutes gone whenever it looks at the clock."""
    folder = RunFolder.at(str(place))
    clock = partial(next, count(0.0, 60.0 * MINUTES))
    with Lease.take(folder.location) as lease:
        job = Job(config, SYSTEMS, str(place), data, None, None, {}, lease.number)
        context = WorkerContext(0, 1, torch.device("cpu"), Quiet(), read_directly, lambda model: model, clock)
        assert Worker(job, context).run()
    return folder


def steps(folder: RunFolder) -> list[int]:
    return [step for step in range(1, STEPS + 1) if Path(folder.checkpoint_at(step).path).exists()]


@pytest.mark.parametrize(("minutes", "expected"), [(15.0, [3, 6, 9, STEPS]), (None, [STEPS])])
def test_they_come_by_the_clock(minutes: float | None, expected: list[int], tmp_path: Path) -> None:
    data = toy_dataset(tmp_path / "data")[0]
    config = override(preset("capsule-howto-tiny"), {**SMALL, "training.checkpoint_minutes": minutes})
    config = with_inputs(config, data)
    RunFolder.at(str(tmp_path / "run")).claim(RunRecord(data.uri, None, data.fingerprint, "sqlite:///x", "e"), config)
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    folder = run_to_the_end(tmp_path / "run", config, data.uri)
    assert steps(folder) == expected
    first = Path(folder.checkpoint_at(expected[0]).path)
    begun = RunFolder.at(str(tmp_path / "again"))
    shutil.copytree(first, begun.checkpoint_at(expected[0]).path)
    again = run_to_the_end(tmp_path / "again", config, data.uri)
    assert steps(again) == expected
    ends = [Path(one.checkpoint_at(STEPS).path) / "model.safetensors" for one in (folder, again)]
    assert ends[0].read_bytes() == ends[1].read_bytes()
