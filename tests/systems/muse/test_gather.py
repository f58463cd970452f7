"""W workers with B/W rows each give MUSE the loss and gradients of one with B, whatever each has to pad."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.builders.frame_batches import SMALL, videos
from tests.train.workers import assert_together_equal_one, averaged_gradients
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.towers import MambaLearner
from vtr_core.embedding.collectives import average_gradients, gather_embeddings, gather_keys, sum_shares
from vtr_core.losses.contrastive import build_objective
from vtr_core.losses.objective import Share
from vtr_core.systems.muse.config import MuseConfig, TextWords
from vtr_core.systems.muse.model import Muse

ROWS = 12
WORDS = TextWords(levels=SMALL.text, dropout=0.0)
CASES = [
    MuseConfig(
        inputs=SMALL.inputs,
        grid=None,
        scales=(1,),
        temporal_scales=(2,),
        aggregation=aggregation,
        learner=MambaLearner(layers=1, state=4, scan=scan),
        text=WORDS,
    )
    for aggregation, scan in (("scale", "v2"), ("frame", "none"), ("scale", "v1"))
]


def one_step(config: MuseConfig, rank: int, world: int) -> list[Tensor]:
    """Worker `rank`'s part of the rows, the gathered loss, and gradients averaged as DDP does."""
    torch.manual_seed(0)
    model = Muse(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    objective = build_objective(InfoNceConfig(learnable_temperature=True)).double()
    # The missing ones leave the workers with unequal numbers of rows, of the first of four without any text.
    part = videos(no_video=(4, 11), no_text=(0, 1, 2, 7), rows=ROWS).split(ROWS // world)[rank]
    embeddings, keys = gather_embeddings(model(part)), gather_keys(part.keys)
    loss = sum_shares(objective(embeddings, keys, 0, Share(rank, world)).total.unsqueeze(0)).sum()
    loss.backward()
    average_gradients(objective)
    gradients = averaged_gradients(model, world)
    assert any(gradient.any() for gradient in gradients)
    gradients += [parameter.grad for parameter in objective.parameters() if parameter.grad is not None]
    return [loss.detach(), *gradients]


def steps(rank: int, world: int) -> list[list[Tensor]]:
    return [one_step(config, rank, world) for config in CASES]


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.long)])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    assert_together_equal_one(steps, world, tmp_path)
