"""WebDataset: the rows in tar files, a sample a clip, shuffled by shard and in a buffer of samples."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.peers.records import FILE, Batch, batch, records

SHUFFLE_SAMPLES = 5000
"""Of the buffer, in each worker."""


def write(shards: Sequence[Path], out: Path, kind: np.dtype) -> None:
    """One tar file per shard."""
    import webdataset

    out.mkdir(parents=True)
    for shard in shards:
        with webdataset.TarWriter(str(out / f"{shard.stem}.tar")) as writer:
            number = 0
            for rows in records([shard], kind):
                for row in rows:
                    writer.write({"__key__": f"{number:06d}", FILE: row.tobytes()})
                    number += 1


def batches(folder: Path, kind: np.dtype, rows: int, workers: int, epochs: int | None = None) -> Iterator[Batch]:
    """Shuffled batches of `epochs` passes, without end by default; the rest of a worker's part is a smaller batch.

    The workers make whole batches. Each of them has shards of its own.
    """
    import webdataset

    files = sorted(str(file) for file in folder.glob("*.tar"))
    dataset = webdataset.WebDataset(files, shardshuffle=len(files), seed=0, empty_check=False)
    made = dataset.shuffle(SHUFFLE_SAMPLES, initial=SHUFFLE_SAMPLES // 5).to_tuple(FILE)
    made = made.batched(rows, collation_fn=partial(_collate, kind))
    loader = webdataset.WebLoader(made, batch_size=None, num_workers=workers, persistent_workers=True)
    done = 0
    while epochs is None or done < epochs:
        yield from loader
        done += 1


def _collate(kind: np.dtype, samples: Sequence[tuple[bytes]]) -> Batch:
    return batch([sample[0] for sample in samples], kind)
