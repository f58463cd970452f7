"""W workers with B/W rows each give the loss and gradients of one with B, batch normalisation included."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.builders.frame_batches import SMALL, videos
from tests.train.workers import assert_together_equal_one, averaged_gradients
from vtr_core.embedding.collectives import gather_dual, gather_keys, sum_shares, widest
from vtr_core.losses.objective import Share
from vtr_core.nn.normalization import share_statistics
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder

ROWS = 12
CASES: list[tuple[HybridEncoderConfig, DualTripletConfig]] = [
    (SMALL, DualTripletConfig()),
    (SMALL.model_copy(update={"concept_similarity": "cosine"}), DualTripletConfig(negatives="all", concept_weight=2.0)),
    (SMALL.model_copy(update={"latent_dim": None}), DualTripletConfig(compat="hybrid_space")),
    (SMALL.model_copy(update={"num_concepts": None}), DualTripletConfig()),
]


def one_step(case: tuple[HybridEncoderConfig, DualTripletConfig], rank: int, world: int) -> list[Tensor]:
    """Worker `rank`'s part of the rows, the gathered loss, gradients averaged as DDP does, and the model's buffers."""
    torch.manual_seed(0)
    config, loss_config = case
    model = HybridEncoder(config.model_copy(update={"dropout": 0.0})).double()
    share_statistics(model, sum_shares)
    # The missing ones leave the workers with unequal numbers of rows, of the first of four without any text.
    whole = videos(no_video=(4, 11), no_text=(0, 1, 2, 7), rows=ROWS)
    part = whole.split(ROWS // world)[rank]
    embeddings, keys = gather_dual(model(part)), gather_keys(part.keys)
    labels = torch.rand(ROWS, config.num_concepts or 1, generator=torch.Generator().manual_seed(1))
    losses = DualObjective(loss_config, config.concept_similarity)(
        embeddings, labels if config.num_concepts else None, keys, Share(rank, world)
    )
    model.note_ranges(widest(losses.ranges))
    loss = sum_shares(losses.total.unsqueeze(0)).sum()
    loss.backward()
    gradients = averaged_gradients(model, world)
    assert any(gradient.any() for gradient in gradients)
    return [loss.detach(), *gradients, *(buffer.clone() for buffer in model.buffers())]


def steps(rank: int, world: int) -> list[list[Tensor]]:
    return [one_step(case, rank, world) for case in CASES]


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.long)])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    assert_together_equal_one(steps, world, tmp_path)
