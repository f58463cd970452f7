"""Lance: the shards' columns as they are, scanned in file order in batches, by threads of its own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.peers.records import Batch, values


def write(shards: Sequence[Path], out: Path, kind: np.dtype) -> None:
    """One data set of all rows, in file order."""
    import lance
    import pyarrow.parquet as pq

    mode = "create"
    for shard in shards:
        lance.write_dataset(pq.read_table(shard, columns=list(kind.names or ())), str(out), mode=mode)
        mode = "append"


def batches(folder: Path, kind: np.dtype, rows: int, epochs: int | None = None) -> Iterator[Batch]:
    """Batches of `epochs` passes in file order, without end by default; a scan's last batch is smaller."""
    import lance

    dataset, done = lance.dataset(str(folder)), 0
    while epochs is None or done < epochs:
        for read in dataset.to_batches(columns=list(kind.names or ()), batch_size=rows):
            columns = {name: values(read.column(name), kind[name]) for name in kind.names or ()}
            columns["tokens"] = columns["tokens"].astype(np.int64)
            yield {name: _tensor(column) for name, column in columns.items()}
        done += 1


def _tensor(column: np.ndarray) -> torch.Tensor:
    """A tensor on the memory of Lance's batch where its values are aligned."""
    return torch.from_numpy(column if column.flags.aligned and column.flags.writeable else column.copy())
