"""The limit: a raw scan of the training columns with pyarrow, without a plan, a batch or a tensor.

    python -m benchmarks.feeding.scan --data FOLDER --way memory_map

Every way puts the values of all columns into Arrow buffers in memory, in file order, with both cores:

memory_map, read   a thread per core reads row groups of its files, mapped into memory or read, and lets them go once
                   they are a batch; one copy from the page cache, or two
dataset            pyarrow.dataset's scanner with its defaults
"""

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal, assert_never

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from benchmarks.peers.deliver import Timing
from pipelines.arguments import parse
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.row_groups import training_columns

Way = Literal["memory_map", "read", "dataset"]


@dataclass(frozen=True)
class Flags:
    """What to scan and how."""

    data: str
    """Folder of the shards."""
    way: Way = "memory_map"
    """See above."""
    rows: int = 4096
    """Rows that are held at once, in every thread."""
    threads: int = 2
    """Threads of memory_map and read."""
    seconds: float = 10.0
    """Passes are repeated for about so long, after one that does not count."""


def main(argv: Sequence[str]) -> None:
    """Scan and print the timing as JSON."""
    print(json.dumps(asdict(scanned(parse(Flags, argv, "python -m benchmarks.feeding.scan")))))


def scanned(flags: Flags) -> Timing:
    """Whole passes over the shards; `first_batch_s` is 0, nothing is started."""
    manifest = Manifest.load(flags.data)
    files = [Path(flags.data) / shard.file for shard in manifest.shards]
    columns = training_columns(manifest.schema)
    one_pass(files, columns, flags)
    rows, steps, start = 0, 0, perf_counter()
    while (elapsed := perf_counter() - start) < flags.seconds or not steps:
        rows += one_pass(files, columns, flags)
        steps += 1
    elapsed = perf_counter() - start
    return Timing(rows, steps, elapsed, 0.0)


def one_pass(files: Sequence[Path], columns: Sequence[str], flags: Flags) -> int:
    """Rows of one scan of all files."""
    match flags.way:
        case "memory_map" | "read":
            parts = [files[thread :: flags.threads] for thread in range(flags.threads)]
            with ThreadPoolExecutor(flags.threads) as pool:
                return sum(pool.map(lambda part: _scan(part, columns, flags), parts))
        case "dataset":
            batches = pyarrow.dataset.dataset(files).to_batches(columns=list(columns), batch_size=flags.rows)
            return sum(batch.num_rows for batch in batches)
        case _:
            assert_never(flags.way)


def _scan(files: Sequence[Path], columns: Sequence[str], flags: Flags) -> int:
    total = held = 0
    batch: list[pa.Table] = []
    for table in _row_groups(files, columns, flags.way == "memory_map"):
        batch.append(table)
        held += table.num_rows
        if held >= flags.rows:
            total, held, batch = total + held, 0, []
    return total + held


def _row_groups(files: Sequence[Path], columns: Sequence[str], memory_map: bool) -> Iterator[pa.Table]:
    for file in files:
        with pq.ParquetFile(file, memory_map=memory_map) as source:
            for group in range(source.num_row_groups):
                yield source.read_row_group(group, list(columns), use_threads=False)


if __name__ == "__main__":
    main(sys.argv[1:])
