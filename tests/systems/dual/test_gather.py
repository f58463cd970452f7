"""W workers with B/W rows each give the loss and gradients of one with B, batch normalisation included."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

from tests.builders.frame_batches import SMALL, videos
from vtr_core.losses.share import Share
from vtr_core.nn.batch_norm import share_statistics
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.train.distributed.gather import gather_dual, gather_keys, sum_shares, widest

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
    gradients = []
    for parameter in model.parameters():
        assert parameter.grad is not None
        if world > 1:
            dist.all_reduce(parameter.grad)
            parameter.grad /= world
        gradients.append(parameter.grad)
    assert any(gradient.any() for gradient in gradients)
    return [loss.detach(), *gradients, *(buffer.clone() for buffer in model.buffers())]


def worker(rank: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    results = [one_step(case, rank, world) for case in CASES]
    torch.save(results, f"{folder}/rank{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.long)])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    alone = [one_step(case, 0, 1) for case in CASES]
    mp.spawn(worker, args=(world, str(tmp_path)), nprocs=world)
    for rank in range(world):
        together = torch.load(tmp_path / f"rank{rank}.pt", weights_only=True)
        for one, many in zip(alone, together, strict=True):
            for expected, found in zip(one, many, strict=True):
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
