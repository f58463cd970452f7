"""The rows of batches that each row group provides."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vtr_core.data.plan.plan import BatchPlan


@dataclass(frozen=True)
class Run:
    """Consecutive rows of a batch, from `begin` on, which are the rows `row` of one row group."""

    batch: int
    begin: int
    row: np.ndarray


def runs_of(batches: Sequence[BatchPlan]) -> dict[int, list[Run]]:
    """The runs of each row group, by its number, in file order."""
    runs: dict[int, list[Run]] = {}
    for i, batch in enumerate(batches):
        starts = np.flatnonzero(np.diff(batch.group, prepend=-1)).tolist()
        for begin, end in pairwise([*starts, len(batch.group)]):
            runs.setdefault(int(batch.group[begin]), []).append(Run(i, begin, batch.row[begin:end]))
    return dict(sorted(runs.items()))
