"""Ray Data as its documentation has it: read_parquet, then iter_torch_batches, in file order, no plan, no checksums.

    python -m benchmarks.feeding.ray_parquet --action write --shards FOLDER --data FOLDER
    python -m benchmarks.feeding.ray_parquet --action time --data FOLDER

The files are those that Ray Data writes of the same columns, features as tensors, uncompressed.
"""

import json
import logging
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import ray
import torch
from torch import Tensor

from benchmarks.peers.deliver import DIMS, MAX_WORDS, record_type, timed, values
from pipelines.arguments import parse
from vtr_core.ray_private import KEEP_DEVICES, KEEP_IDLE


@dataclass(frozen=True)
class Flags:
    """What to write or to read, and for how long."""

    action: Literal["write", "time"]
    """Write the files, or time what is read from them."""
    data: str
    """Folder of the files."""
    shards: str = ""
    """Folder of our shards, of which they are written."""
    rows: int = 4096
    """Rows of a batch."""
    seconds: float = 10.0
    """Batches are counted for about so long, after those that do not count."""
    warm_up: int = 40
    """Batches that do not count."""
    cpus: int = 3
    """Of Ray, as many as ours has: one for whoever takes the batches, two for reading."""


def main(argv: Sequence[str]) -> None:
    """Write the files, or read and print the timing as JSON, in a Ray of its own."""
    flags = parse(Flags, argv, "python -m benchmarks.feeding.ray_parquet")
    os.environ.update({KEEP_DEVICES: "0", **KEEP_IDLE})
    start = partial(ray.init, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    start(address="local", num_cpus=flags.cpus)
    ray.data.DataContext.get_current().enable_progress_bars = False
    if flags.action == "write":
        write(flags.shards, flags.data)
    else:
        torch.set_num_threads(1)
        with closing(batches(flags.data, flags.rows)) as made:  # before Ray ends, which Ray Data would start again
            print(json.dumps(asdict(timed(made, lambda batch: len(batch["tokens"]), flags.seconds, flags.warm_up))))
    ray.shutdown()


def write(shards: str, out: str) -> None:
    """The training columns of our shards, features and tokens as tensors."""
    names = list(record_type(DIMS, MAX_WORDS).names or ())
    files = sorted(str(file) for file in Path(shards).glob("*.parquet"))
    read = ray.data.read_parquet(files, columns=names)
    rows = read.map_batches(_tensors, batch_format="pyarrow", zero_copy_batch=True)
    rows.write_parquet(out, compression="none")


def _tensors(table: pa.Table) -> dict[str, np.ndarray]:
    kind = record_type(DIMS, MAX_WORDS)
    return {name: values(table.column(name).combine_chunks(), kind[name]) for name in kind.names or ()}


def batches(data: str, rows: int) -> Generator[dict[str, Tensor], None, None]:
    """Batches of pass after pass, without end; a pass's last batch is smaller."""
    whole = ray.data.read_parquet(data)
    while True:
        yield from whole.iter_torch_batches(batch_size=rows, prefetch_batches=2)


if __name__ == "__main__":
    main(sys.argv[1:])
