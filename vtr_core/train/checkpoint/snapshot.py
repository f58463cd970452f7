"""In-memory copies of a checkpoint's tensors, which continued training does not change."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from vtr_core.train.checkpoint.files import Checkpoint


class Snapshots:
    """Takes snapshots, each into the memory of the previous one, which it overwrites.

    Tensors on a GPU are copied into pinned memory, for full transfer rate.
    """

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []
        self._taken = 0

    def take(self, checkpoint: Checkpoint) -> Checkpoint:
        """`checkpoint` with copies of its tensors; all copies are complete when this returns."""
        self._taken = 0
        copied = replace(
            checkpoint,
            model=self._copy(checkpoint.model),
            optimizer=self._copy(checkpoint.optimizer),
            objective=self._copy(checkpoint.objective),
            trained=self._copy(checkpoint.trained),
        )
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return copied

    def _copy(self, value: Any) -> Any:
        match value:
            case Tensor():
                return self._buffer(value).copy_(value.detach(), non_blocking=True)
            case dict():
                return {name: self._copy(inner) for name, inner in value.items()}
            case list():
                return [self._copy(inner) for inner in value]
            case _:
                return value

    def _buffer(self, like: Tensor) -> Tensor:
        """The previous snapshot's next buffer where it fits, else a new one."""
        place, self._taken = self._taken, self._taken + 1
        if place < len(self._buffers) and _fits(self._buffers[place], like):
            return self._buffers[place]
        fresh = torch.empty_like(like, device="cpu", pin_memory=like.is_cuda, requires_grad=False)
        self._buffers[place : place + 1] = [fresh]
        return fresh


def _fits(buffer: Tensor, like: Tensor) -> bool:
    return (buffer.shape, buffer.dtype, buffer.stride()) == (like.shape, like.dtype, like.stride())
