"""W workers with B/W rows each give the loss and the gradients of one worker with B, for every configured loss.

In bf16, on the wire alone, they differ by its rounding.
"""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tests.train.workers import assert_together_equal_one, run_together
from vtr_core.config.losses import (
    AdaptiveMargin,
    ConstantMargin,
    GeometricMargin,
    InfoNceConfig,
    LinearMargin,
    MaskedMarginSoftmaxConfig,
    MaskSameVideo,
    MaxMarginRankingConfig,
    MilNceConfig,
    SigmoidConfig,
    WeightSameVideo,
)
from vtr_core.data.batches import RowKeys
from vtr_core.embedding.collectives import (
    average_gradients,
    average_in_bf16,
    bare,
    gather_embeddings,
    gather_keys,
    sum_shares,
)
from vtr_core.losses.contrastive import build_objective
from vtr_core.losses.objective import Share
from vtr_core.nn.embeddings import Embeddings
from vtr_core.run.config import LossConfig

ROWS, DIM, EXTRA = 12, 5, 2
STEP = 700
LOSSES: list[LossConfig] = [
    MaskedMarginSoftmaxConfig(margin=ConstantMargin(value=0.1)),
    MaskedMarginSoftmaxConfig(margin=GeometricMargin(initial=0.1, factor=1.5, every=100), same_video=MaskSameVideo()),
    MaskedMarginSoftmaxConfig(margin=LinearMargin(final=0.3, steps=1000), block_rows=2),
    MaskedMarginSoftmaxConfig(margin=AdaptiveMargin(scale=0.5), block_rows=3, same_video=WeightSameVideo()),
    InfoNceConfig(temperature=0.2),
    InfoNceConfig(temperature=0.2, learnable_temperature=True, same_video=WeightSameVideo(hard_rate=0.3)),
    InfoNceConfig(temperature=0.2, positives="same_caption"),
    InfoNceConfig(temperature=0.2, positives="same_caption", block_rows=2, same_video=MaskSameVideo()),
    MilNceConfig(),
    MilNceConfig(block_rows=2, same_video=MaskSameVideo()),
    MaxMarginRankingConfig(margin=0.2),
    MaxMarginRankingConfig(margin=0.2, same_video=WeightSameVideo(), block_rows=2),
    SigmoidConfig(),
    SigmoidConfig(learnable=False, same_video=WeightSameVideo(), block_rows=3),
]
MODALITIES = ("text", "video", "audio")


def towers() -> nn.ModuleDict:
    torch.manual_seed(0)
    return nn.ModuleDict({name: nn.Linear(DIM, 4).double() for name in MODALITIES})


def batch() -> tuple[dict[str, Tensor], dict[str, Tensor], RowKeys]:
    generator = torch.Generator().manual_seed(1)
    inputs = {name: torch.randn(ROWS, DIM, dtype=torch.float64, generator=generator) for name in MODALITIES}
    present = {name: torch.rand(ROWS, generator=generator) > 0.2 for name in MODALITIES}
    clip = torch.arange(ROWS) % 10  # two clips stand in the batch twice
    return inputs, present, RowKeys(clip=clip, video=clip // 2, caption=torch.arange(ROWS) // 2 * 2)


def loss_and_gradients(config: LossConfig, rank: int, world: int) -> list[Tensor]:
    """One step of worker `rank`: its part of the rows, the gathered loss, gradients averaged as DDP does."""
    model, (inputs, present, keys) = towers(), batch()
    objective = build_objective(config).double()
    candidates = torch.randn(ROWS, EXTRA, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    part = slice(rank * ROWS // world, (rank + 1) * ROWS // world)
    mask = torch.zeros(ROWS, dtype=torch.bool)
    mask[part] = True
    own = Embeddings(
        vectors={name: model[name](values[part]) for name, values in inputs.items()},
        present={name: values[part] for name, values in present.items()},
        candidates=model["text"](candidates[part]),
    )
    whole, whole_keys = gather_embeddings(own), gather_keys(keys[mask])
    losses = objective(whole, whole_keys, STEP, Share(rank, world))
    loss = sum_shares(losses.total.unsqueeze(0)).sum()
    loss.backward()
    average_gradients(objective)
    gradients = [parameter.grad for parameter in model.parameters()]
    for gradient in gradients:
        assert gradient is not None
        if world > 1:
            dist.all_reduce(gradient)
            gradient /= world
    gradients += [parameter.grad for parameter in objective.parameters()]
    return [loss.detach(), *(gradient for gradient in gradients if gradient is not None)]


def steps(rank: int, world: int) -> list[list[Tensor]]:
    return [loss_and_gradients(config, rank, world) for config in LOSSES]


@pytest.mark.parametrize("world", [2, 3])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    assert_together_equal_one(steps, world, tmp_path)


class _Towers(nn.ModuleDict):
    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: tower(inputs[name].float()) for name, tower in self.items()}


def bf16_step(rank: int, world: int) -> list[list[Tensor]]:
    """The loss and the gradients of a step under DDP whose vectors and gradients are sent in bf16."""
    torch.manual_seed(0)
    inputs, present, keys = batch()
    model: nn.Module = _Towers({name: nn.Linear(DIM, 4) for name in MODALITIES})
    if world > 1:
        ddp = DistributedDataParallel(model)
        ddp.register_comm_hook(None, average_in_bf16)
        assert bare(ddp) is model
        model = ddp
    part = slice(rank * ROWS // world, (rank + 1) * ROWS // world)
    mask = torch.zeros(ROWS, dtype=torch.bool)
    mask[part] = True
    vectors = model({name: values[part] for name, values in inputs.items()})
    own = Embeddings(vectors, {name: values[part] for name, values in present.items()})
    objective = build_objective(MaskedMarginSoftmaxConfig())
    losses = objective(gather_embeddings(own, "bf16"), gather_keys(keys[mask]), 0, Share(rank, world))
    loss = sum_shares(losses.total.unsqueeze(0)).sum()
    loss.backward()
    gradients = [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
    return [[loss.detach(), torch.cat(gradients)]]


def test_bf16_rounds_what_is_sent(tmp_path: Path) -> None:
    ((loss, gradient),) = bf16_step(0, 1)
    for ((rounded, rounded_gradient),) in run_together(bf16_step, 2, tmp_path):
        assert float(rounded) == pytest.approx(float(loss), rel=1e-2)
        assert 0 < (rounded_gradient - gradient).norm() < 0.03 * gradient.norm()


def test_a_compiled_model_is_bare_inside() -> None:
    model = nn.Linear(2, 3)
    compiled = torch.compile(model)
    assert compiled is not model
    assert bare(compiled) is bare(model) is model
