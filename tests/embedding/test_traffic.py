"""Bytes that a worker sends in a step: as the arithmetic has them, and half of them in bf16."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from tests.train.workers import run_together
from vtr_core.config.losses import MaskedMarginSoftmaxConfig
from vtr_core.config.training import Wire
from vtr_core.data.batches import RowKeys
from vtr_core.embedding.collectives import average_in_bf16, gather_embeddings, gather_keys, sum_shares
from vtr_core.losses.contrastive import build_objective
from vtr_core.losses.objective import Share
from vtr_core.nn.embeddings import Embeddings

ROWS, DIM, MODALITIES = 48, 6, 3
WIRES: tuple[Wire, ...] = ("as_computed", "bf16")


class SentBytes(TorchDispatchMode):
    """Bytes that a worker of `world` sends in every kind of collective, by the ring that NCCL and gloo take.

    A gather sends every row to W−1 others, a reduce-scatter W−1 of W parts once, an all-reduce twice.
    """

    def __init__(self, world: int) -> None:
        super().__init__()
        self._world, self.sent = world, dict[str, float]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name()
        if name.startswith("c10d::"):
            self._count(name.removeprefix("c10d::"), args)
        return func(*args, **(kwargs or {}))

    def _count(self, name: str, args: Any) -> None:
        part = (self._world - 1) / self._world
        match name:
            case "_allgather_base_":
                sent = (self._world - 1) * args[1].nbytes
            case "_reduce_scatter_base_":
                sent = part * args[1].nbytes
            case "allreduce_":
                sent = 2 * part * sum(tensor.nbytes for tensor in args[0])
            case _:
                raise AssertionError(f"{name} is not counted")
        self.sent[name] = self.sent.get(name, 0) + sent


def _step(rank: int, world: int, wire: Wire) -> tuple[Tensor, list[Tensor], dict[str, float]]:
    """The loss, the mean gradients and the traffic of a step of towers under DDP."""
    torch.manual_seed(0)
    towers = nn.ModuleDict({str(i): nn.Linear(DIM, 5) for i in range(MODALITIES)})
    model: nn.Module = _Towers(towers)
    if world > 1:
        ddp = DistributedDataParallel(model)
        if wire == "bf16":
            ddp.register_comm_hook(None, average_in_bf16)
        model = ddp
    inputs = torch.randn(MODALITIES, ROWS, DIM, generator=torch.Generator().manual_seed(1))
    part = slice(rank * ROWS // world, (rank + 1) * ROWS // world)
    clip = torch.arange(ROWS)[part]
    objective = build_objective(MaskedMarginSoftmaxConfig())
    with SentBytes(world) as counter:
        vectors = model(inputs[:, part])
        own = Embeddings(vectors, {name: torch.ones(len(clip), dtype=torch.bool) for name in vectors})
        whole, keys = gather_embeddings(own, wire), gather_keys(RowKeys(clip, clip, clip))
        loss = sum_shares(objective(whole, keys, 0, Share(rank, world)).total.unsqueeze(0)).sum()
        loss.backward()
    return loss.detach(), [p.grad for p in model.parameters() if p.grad is not None], counter.sent


class _Towers(nn.Module):
    def __init__(self, towers: nn.ModuleDict) -> None:
        super().__init__()
        self.towers = towers

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        return {name: tower(inputs[int(name)]) for name, tower in self.towers.items()}


KINDS = ("_allgather_base_", "_reduce_scatter_base_", "allreduce_")


def steps(rank: int, world: int) -> list[list[Tensor]]:
    found = []
    for wire in WIRES:
        loss, gradients, sent = _step(rank, world, wire)
        found.append([loss, *gradients])
        found.append([torch.tensor([sent.get(kind, 0.0) for kind in KINDS])])
    return found


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_step_sends_what_the_arithmetic_says(world: int, tmp_path: Path) -> None:
    (alone, silent, *_), workers = steps(0, 1), run_together(steps, world, tmp_path)
    assert not silent[0].any()
    own, weights = ROWS // world, MODALITIES * (DIM + 1) * 5
    labels = (world - 1) * own * (MODALITIES + 3 * 8)
    for exact, sent, rounded, half in workers:
        for expected, found in zip(alone, exact, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        vectors = (world - 1) * own * MODALITIES * 5 * 4
        shares = 2 * 2 * (world - 1) / world * 4  # the loss forwards, its gradient backwards
        ring = 2 * (world - 1) / world * weights
        assert sent[0].tolist() == pytest.approx([vectors + labels, vectors, ring * 4 + shares])
        assert half[0].tolist() == pytest.approx([vectors / 2 + labels, vectors / 2, ring * 2 + shares])
        assert float(rounded[0]) == pytest.approx(float(alone[0]), rel=5e-3)
        whole = torch.cat([gradient.flatten() for gradient in alone[1:]])
        error = torch.cat([gradient.flatten() for gradient in rounded[1:]]) - whole
        assert 0 < error.norm() < 0.02 * whole.norm()
