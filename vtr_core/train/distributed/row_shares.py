"""Embedded rows sharded over the workers, and the exchange of blocks of them as tensors.

All workers hold the keys and presence flags of each row, about 40 bytes; its vectors stay with the worker that embedded
it, and reach the others in blocks, by broadcasts.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float32, Int64
from torch import Tensor

from vtr_core.metrics.standing import PairCounts
from vtr_core.train.distributed.gather import gather_uneven, sum_numbers, world_size

Place = TypeVar("Place")


def contiguous_share(places: Sequence[Place], rank: int, world: int) -> Sequence[Place]:
    """The share of worker `rank`; the shares of all workers, in order of rank, are `places`."""
    return places[rank * len(places) // world : (rank + 1) * len(places) // world]


def gather_columns(
    columns: Sequence[np.ndarray], device: torch.device
) -> tuple[list[np.ndarray], Int64[np.ndarray, " workers_and_one"]]:
    """Columns of integers or flags of all workers' rows, in order of rank, and where the rows of each worker begin."""
    own = torch.from_numpy(np.stack([column.astype(np.int64) for column in columns], axis=1)).to(device)
    count = gather_uneven(torch.tensor([[len(own)]], device=device)).flatten().cpu().numpy()
    whole = gather_uneven(own).cpu().numpy()
    held = [whole[:, number].astype(column.dtype) for number, column in enumerate(columns)]
    return held, np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])


class SharedVectors:
    """One matrix of vectors, sharded by rows: worker r has the rows `starts[r]` to `starts[r + 1]` − 1."""

    def __init__(
        self,
        own: Float32[np.ndarray, "part dim"],
        starts: Int64[np.ndarray, " workers_and_one"],
        rank: int,
        device: torch.device,
    ) -> None:
        self._own, self._starts, self._rank, self._device = own, starts, rank, device

    def owners(self, rows: Int64[np.ndarray, " rows"]) -> tuple[int, ...]:
        """The workers that have at least one of these rows, ascending."""
        return tuple(np.unique(np.searchsorted(self._starts, rows, side="right") - 1).tolist())

    def own(self, rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "rows dim"]:
        """Rows that this worker has."""
        return torch.from_numpy(self._own[rows - self._starts[self._rank]])

    def fetch(self, rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "rows dim"]:
        """Any rows, ascending; every worker asks for the same ones."""
        if world_size() == 1:
            return self.own(rows)
        block = torch.empty((len(rows), self._own.shape[1]), device=self._device)
        for owner in self.owners(rows):
            first, last = np.searchsorted(rows, self._starts[owner : owner + 2]).tolist()
            if owner == self._rank:
                block[first:last] = self.own(rows[first:last]).to(self._device)
            dist.broadcast(block[first:last], src=owner)
        return block.cpu()


def add_scores(counts: PairCounts, device: torch.device) -> None:
    """Share the scores of relevant pairs, each computed by one worker, with all workers."""
    counts.scores = _summed(counts.scores, device)


def add_counts(counts: PairCounts, device: torch.device) -> None:
    """Replace the counts by their sums over all workers."""
    counts.higher, counts.equal = _summed(counts.higher, device), _summed(counts.equal, device)
    counts.not_finite = _summed(counts.not_finite, device)


def _summed(values: np.ndarray, device: torch.device) -> np.ndarray:
    return sum_numbers(torch.from_numpy(values).to(device)).cpu().numpy()
