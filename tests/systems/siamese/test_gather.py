"""W workers with B/W images each give the loss and gradients of one with B: pairs, batch norm, penalties."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.builders.made_faces import face
from tests.train.workers import assert_together_equal_one, averaged_gradients
from vtr_core.config.override import override
from vtr_core.nn.channel_batch_norm import share_channels
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.task import VerificationTask
from vtr_core.train.distributed.gather import sum_shares

CPU = torch.device("cpu")
BASE = {
    "model.size": 36,
    "model.image": {"height": 48, "width": 40},
    "model.tower.channels": 4,
    "model.tower.primary_types": 2,
    "model.tower.num_face_capsules": 3,
    "batch.videos": 4,
    "batch.clips_per_video": 3,
    "loss.margin": 1.5,
}
CASES = [
    {},
    {"model.tower.reconstruction_weight": 1e-3, "loss.pairs": "hardest"},
    {"loss.kind": "pair_double_margin", "loss.margin_positive": 1.9, "loss.margin_negative": 0.01},
]


def config(changes: dict[str, object]) -> TrainConfig:
    base = {name: value for name, value in BASE.items() if not (name == "loss.margin" and "loss.kind" in changes)}
    return override(preset("siamese-att-tiny"), {**base, **changes})


def one_step(settings: TrainConfig, rank: int, world: int) -> list[Tensor]:
    torch.manual_seed(0)
    model = Siamese(settings.model).train()
    if world > 1:
        share_channels(model, sum_shares)
    images = [(subject, number) for subject in range(4) for number in range(3)]
    part = images[rank * len(images) // world : (rank + 1) * len(images) // world]
    columns = {
        "pixels": torch.stack([torch.from_numpy(face(*image)).flatten() for image in part]).numpy(),
        "clip_key": torch.tensor([10 * s + i for s, i in part]).numpy(),
        "video_key": torch.tensor([s for s, _ in part]).numpy(),
    }
    loss = VerificationTask(settings, rank, world).step(model, columns, 5, CPU).loss
    loss.backward()
    gradients = averaged_gradients(model, world)
    return [loss.detach(), *gradients, *(b.detach().float() for n, b in model.named_buffers() if "running" in n)]


def steps(rank: int, world: int) -> list[list[Tensor]]:
    return [one_step(config(case), rank, world) for case in CASES]


@pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.long)])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    assert all(any(value.abs().sum() > 0 for value in case[1:]) for case in steps(0, 1))
    assert_together_equal_one(steps, world, tmp_path, rtol=2e-3, atol=2e-5)
