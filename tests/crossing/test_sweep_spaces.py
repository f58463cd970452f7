"""Every search space of a small preset: each end and choice takes a step, and a sweep over it comes to its end."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.sweep.command import SweepFlags
from pipelines.sweep.run import sweep
from pipelines.train.command import TrainFlags, train
from tests.crossing.test_presets import small
from tests.crossing.worlds import world_of
from tests.drills.runs import losses
from tune_spaces.spaces import build_space, search_spaces
from vtr_core.config.override import override
from vtr_core.config.search_space import extremes
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS

pytestmark = [pytest.mark.integration, pytest.mark.long]
SPACES = [name for name in search_spaces(SYSTEMS) if "-tiny" in name or name == "adapter"]


@pytest.mark.parametrize("name", SPACES)
def test_every_end_of_a_space_is_trained(name: str, worlds: Callable[[str], Path], tmp_path: Path) -> None:
    space = build_space(name, SYSTEMS)
    data = worlds(world_of(preset(space.preset)))
    config = override(small(space.preset, data), {"training.max_steps": 1})
    for number, point in enumerate(extremes(space)):
        out = tmp_path / str(number)
        train(space.applied(config, point), TrainFlags(data=str(data), out=str(out)))
        assert [math.isfinite(loss) for loss in losses(out)] == [True], point


@pytest.mark.parametrize("name", SPACES)
def test_a_sweep_comes_to_its_end(name: str, worlds: Callable[[str], Path], tmp_path: Path, local_ray: None) -> None:
    base = build_space(name, SYSTEMS).preset
    data = worlds(world_of(preset(base)))
    out = tmp_path / "sweep"
    flags = SweepFlags(data=str(data), num_samples=2, search="random", max_concurrent=2, out=str(out))
    changes = {"training.epochs": 2, "training.validate_every": 1, "scaling.workers": 0}
    sweep(name, flags, {"batch.videos": small(base, data).batch.videos, **changes})
    trials = json.loads((out / "trials.json").read_text())
    assert {row["state"] for row in trials} <= {"finished", "stopped"}
    assert len(trials) == 2
