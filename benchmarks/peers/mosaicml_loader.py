"""mosaicml-streaming: the rows in MDS shards on the local disk, shuffled by its default algorithm."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import library

from benchmarks.peers.records import FILE, Batch, batch, records


def write(shards: Sequence[Path], out: Path, kind: np.dtype) -> None:
    """One column of bytes; shards of the writer's default size."""
    with _streaming().MDSWriter(out=str(out), columns={FILE: "bytes"}) as writer:
        for rows in records(shards, kind):
            for row in rows:
                writer.write({FILE: row.tobytes()})


def batches(folder: Path, kind: np.dtype, rows: int, workers: int, epochs: int | None = None) -> Iterator[Batch]:
    """Shuffled batches of `epochs` passes, without end by default; the workers make whole batches."""
    streaming = _streaming()
    streaming.base.util.clean_stale_shared_memory()
    dataset = streaming.StreamingDataset(local=str(folder), shuffle=True, shuffle_seed=0, batch_size=rows)
    loader = streaming.StreamingDataLoader(
        dataset, batch_size=rows, num_workers=workers, persistent_workers=True, collate_fn=partial(_collate, kind)
    )
    done = 0
    while epochs is None or done < epochs:
        yield from loader
        done += 1


def _collate(kind: np.dtype, samples: Sequence[dict[str, bytes]]) -> Batch:
    return batch([sample[FILE] for sample in samples], kind)


def _streaming() -> Any:
    """The package. Its data sets of images, not used here, import torchvision.

    A torchvision that was built for another kind of torch (CUDA beside CPU) loads without its operators and fails on
    two of them; their names are enough.
    """
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in ("nms", "qnms"):
            library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")
    import streaming

    return streaming
