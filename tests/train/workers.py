"""What W workers compute, each in a process of its own, beside what one computes alone.

The processes are copies of one that has imported torch, which takes seconds and is done once for all tests.
"""

import multiprocessing
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

Steps = Callable[[int, int], list[list[Tensor]]]
"""Rank and number of workers to the tensors of every case; a function of a module, for other processes to find."""

# torch._dynamo is what recomputing activations imports, 2 s.
multiprocessing.set_forkserver_preload(["pytest", "torch.distributed", "torch._dynamo", "vtr_core.run.build"])


def assert_together_equal_one(steps: Steps, world: int, folder: Path, rtol: float = 0.0, atol: float = 1e-6) -> None:
    """Every worker of `world` finds, within the tolerances, what the only worker of one does."""
    alone = steps(0, 1)
    for together in run_together(steps, world, folder):
        for one, many in zip(alone, together, strict=True):
            for expected, found in zip(one, many, strict=True):
                torch.testing.assert_close(found, expected, rtol=rtol, atol=atol)


def run_together(steps: Steps, world: int, folder: Path) -> list[list[list[Tensor]]]:
    """What each of `world` workers computes, in order of rank."""
    mp.start_processes(partial(_worker, steps), args=(world, str(folder)), nprocs=world, start_method="forkserver")
    return [torch.load(folder / f"rank{rank}.pt", weights_only=True) for rank in range(world)]


def averaged_gradients(model: nn.Module, world: int) -> list[Tensor]:
    """The gradients of all parameters, each of which must have one, averaged over the workers as DDP does."""
    gradients = []
    for parameter in model.parameters():
        assert parameter.grad is not None
        if world > 1:
            dist.all_reduce(parameter.grad)
            parameter.grad /= world
        gradients.append(parameter.grad)
    return gradients


def _worker(steps: Steps, rank: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    torch.save(steps(rank, world), f"{folder}/rank{rank}.pt")
    dist.destroy_process_group()
