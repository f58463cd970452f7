"""A clip as one record of bytes, for the formats that hold a sample as bytes, and a batch of them as tensors.

The kindest layout for these formats: one field per sample to find, none to parse, and a batch is made by joining bytes.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

Batch = dict[str, Tensor]
"""What every loader delivers: video and audio float16 (rows, dim), tokens int64 (rows, words), keys and presence."""

FILE = "row"
"""The one field of a sample."""


def record_type(dims: dict[str, int], max_words: int) -> np.dtype:
    """A row of the shards' training columns, without padding; features lie side by side in the order of `dims`."""
    features = [(name, np.float16, (dim,)) for name, dim in dims.items()]
    presence = [(f"has_{name}", np.bool_) for name in dims]
    keys = [(name, np.int64) for name in ("clip_key", "video_key", "caption_key")]
    return np.dtype([*features, ("tokens", np.int32, (max_words,)), *keys, *presence])


def records(shards: Sequence[Path], kind: np.dtype) -> Iterator[np.ndarray]:
    """The rows of each row group of our Parquet shards, in file order."""
    import pyarrow.parquet as pq

    for shard in shards:
        source = pq.ParquetFile(shard)
        for group in range(source.num_row_groups):
            table = source.read_row_group(group, list(kind.names or ()))
            rows = np.empty(table.num_rows, kind)
            for name in kind.names or ():
                rows[name] = values(table.column(name).combine_chunks(), kind[name])
            yield rows


def values(column, kind: np.dtype) -> np.ndarray:  # type: ignore[no-untyped-def]  # pyarrow is imported late
    """An Arrow array's values, in place; a fixed-size binary one's are vectors."""
    if kind.subdtype is None:
        return column.to_numpy(zero_copy_only=False)
    item, shape = kind.subdtype
    whole = np.frombuffer(column.buffers()[1], item).reshape(-1, *shape)
    return whole[column.offset : column.offset + len(column)]


def batch(samples: Sequence[bytes], kind: np.dtype) -> Batch:
    """The samples' records as tensors of their own memory."""
    rows = np.frombuffer(b"".join(samples), kind)
    columns = {name: np.ascontiguousarray(rows[name]) for name in kind.names or ()}
    columns["tokens"] = columns["tokens"].astype(np.int64)
    return {name: torch.from_numpy(column) for name, column in columns.items()}
