"""What a step keeps for its backward pass is counted once, and grows with the rows as it was measured on a few."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.row_groups import Columns
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.task import StepOutput
from vtr_core.train.first_batch import activation_memory, first_batch, kept_bytes


class Squares:
    """The sum of the squares of a model's outputs."""

    objective = nn.Identity()

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        return StepOutput(model(torch.from_numpy(columns["x"])).square().sum())

    def evaluate(self, *_: object) -> dict[str, float]:
        return {}


def test_every_kept_storage_counts_once_and_weights_do_not() -> None:
    """Of (rows, 3) → (rows, 5) → tanh → square: the input, and tanh's output, which the square keeps too."""
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh())
    assert kept_bytes(model, Squares(), {"x": np.ones((7, 3), np.float32)}) == 7 * (3 + 5) * 4


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_dataset(tmp_path_factory.mktemp("toy") / "d", clips_of=[3] * 32)[0]


def test_few_rows_tell_of_many(data: Manifest) -> None:
    changes = {"batch.videos": 32, "batch.clips_per_video": 3, "scaling.workers": 0}
    config = with_inputs(override(preset("capsule-howto-tiny"), changes), data)
    before = torch.random.get_rng_state()
    found = activation_memory(config, data, None)
    assert torch.equal(torch.random.get_rng_state(), before)
    whole = first_batch(config, data, None)
    direct = kept_bytes(whole.model, whole.task(config), whole.columns)
    assert found.of(config.batch.rows) == pytest.approx(direct, rel=0.05)
    assert found.rows_in(found.of(20) + 1) == 20


def test_a_batch_of_one_video_tells_too(data: Manifest) -> None:
    changes = {"batch.videos": 1, "batch.clips_per_video": 3, "scaling.workers": 0}
    config = with_inputs(override(preset("capsule-howto-tiny"), changes), data)
    assert activation_memory(config, data, None).per_row > 0
