"""Ways to read planned, shuffled batches: straight into batches, through whole columns, pyarrow's reader, Lance.

Rows as in benchmarks.feeding, by one thread, in turns, everything in the page cache. What is compared is clips per
second of processor time, which other work on the machine changes least.

    python -m benchmarks.reading [--rows 30000] [--rounds 5]      Lance where it is installed (pip install pylance)
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.feeding.data import NUM_CLIPS, FeedingClips, write_shards
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from vtr_core.config.batch import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import Plan, RowGroup
from vtr_core.data.reading.row_groups import Columns, Into, RowGroupReader, training_columns
from vtr_core.data.records.binary_columns import as_rows
from vtr_core.data.records.schema import array_dtype
from vtr_core.data.shards.plain_pages import Checksum
from vtr_core.data.stream.assemble import assemble

OURS = "each byte read straight into its batch, verified (ours)"
SCAN = "no batches: pyarrow's scan in file order, memory-mapped, not verified"
Batches = Iterator[Columns]


@dataclass(frozen=True)
class Flags:
    """How much data, how often, for how long."""

    rows: int = 30_000
    """Clips in the shards, about."""
    batch_rows: int = 4096
    """Clips of a batch."""
    rounds: int = 5
    """Rounds in which every way has its turn."""
    seconds: float = 1.0
    """Of processor time in each turn."""
    work: str = str(Path(tempfile.gettempdir()) / "vtr-reading")
    """Folder for the data."""
    out: str = str(Path(__file__).parent / "results")
    """Folder for reading.json and reading.md."""


class WholeColumns(RowGroupReader):
    """Row groups as whole columns, whose rows are then copied."""

    def read_rows(self, place: RowGroup, rows: Sequence[np.ndarray], into: Into) -> Columns:  # noqa: ARG002
        """All columns of a row group."""
        return self.read_in_place(place)


@dataclass(frozen=True)
class PyarrowReader(RowGroupReader):
    """Row groups by pyarrow's own reader."""

    verified: bool = True
    memory_map: bool = True

    def read_rows(self, place: RowGroup, rows: Sequence[np.ndarray], into: Into) -> Columns:  # noqa: ARG002
        """All columns of a row group."""
        path = Path(self.manifest.location.path) / self.manifest.shards[place.shard].file
        with pq.ParquetFile(path, memory_map=self.memory_map, page_checksum_verification=self.verified) as file:
            table = file.read_row_group(place.index, list(self.columns), use_threads=False)
        return {name: _array(name, table.column(name).combine_chunks()) for name in self.columns}


def _array(name: str, values: pa.Array) -> np.ndarray:
    whole = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_fixed_size_binary(whole.type):
        return as_rows(whole, array_dtype(name))
    return whole.to_numpy(zero_copy_only=False)


def planned(flags: Flags, manifest: Manifest, reader: RowGroupReader) -> Batches:
    """The plan's batches, without end."""
    batch = BatchConfig(videos=flags.batch_rows // NUM_CLIPS, clips_per_video=NUM_CLIPS)
    plan = Plan(manifest, batch, 0)
    for number in count():
        yield from assemble(reader, plan.row_groups, plan.window(number))


def fresh(batches: Batches) -> Batches:
    """The same, with batches in fresh pages of the system."""
    with patch("vtr_core.data.stream.assemble.pooled", np.empty):
        while True:
            yield next(batches)


def unverified(batches: Batches) -> Batches:
    """The same, with no checksum computed or compared."""
    with patch.object(Checksum, "add", _nothing), patch.object(Checksum, "compare", _nothing):
        while True:
            yield next(batches)


def _nothing(*_: object) -> None:
    """In place of what a checksum does."""


def scanned(manifest: Manifest) -> Batches:
    """Row groups in file order, copied into memory: no plan, no batches."""
    files = [Path(manifest.location.path) / shard.file for shard in manifest.shards]
    while True:
        for file in files:
            with pq.ParquetFile(file, memory_map=True) as source:
                for group in range(source.num_row_groups):
                    table = source.read_row_group(group, training_columns(manifest.schema), use_threads=False)
                    yield {"clip_key": table.column("clip_key").to_numpy()}


def lance(flags: Flags, manifest: Manifest) -> Batches:
    """The planned rows of a Lance data set of the same columns, a batch at once."""
    import lance

    names, folder = training_columns(manifest.schema), Path(flags.work) / f"lance-{manifest.rows}"
    if not folder.exists():
        files = [Path(manifest.location.path) / shard.file for shard in manifest.shards]
        lance.write_dataset(pa.concat_tables(pq.read_table(file, columns=names) for file in files), str(folder))
    dataset = lance.dataset(str(folder))
    groups = [sum(counts) for shard in manifest.shards for counts in shard.row_groups]
    first = np.cumsum(groups) - groups
    plan = Plan(manifest, BatchConfig(videos=flags.batch_rows // NUM_CLIPS, clips_per_video=NUM_CLIPS), 0)
    for number in count():
        for batch in plan.window(number):
            table = dataset.take(first[batch.group] + batch.row, columns=names)
            yield {name: _array(name, table.column(name).combine_chunks()) for name in names}


def ways(flags: Flags, manifest: Manifest) -> dict[str, Callable[[], Batches]]:
    """What is compared, by name."""
    columns = training_columns(manifest.schema)
    own, read = RowGroupReader(manifest, columns), partial(planned, flags, manifest)
    found: dict[str, Callable[[], Batches]] = {
        OURS: lambda: read(own),
        "the same, not verified": lambda: unverified(read(own)),
        "the same into fresh pages": lambda: fresh(read(own)),
        "whole columns as they lie, verified, then rows copied": lambda: read(WholeColumns(manifest, columns)),
        "pyarrow, memory-mapped, verified": lambda: read(PyarrowReader(manifest, columns)),
        "pyarrow, read, verified": lambda: read(PyarrowReader(manifest, columns, memory_map=False)),
        "pyarrow, memory-mapped, not verified": lambda: read(PyarrowReader(manifest, columns, verified=False)),
    }
    found[SCAN] = lambda: scanned(manifest)
    return found | (
        {"Lance, taken by row, not verified": partial(lance, flags, manifest)} if find_spec("lance") else {}
    )


def rate(batches: Batches, seconds: float) -> float:
    """Clips per second of processor time, after as many batches as fill the pool."""
    for _ in range(8):
        next(batches)
    begin, rows = process_time(), 0
    while process_time() - begin < seconds:
        rows += len(next(batches)["clip_key"])
    return rows / (process_time() - begin)


def equal(ours: Batches, theirs: Batches, batches: int = 8) -> bool:
    """Whether both give the same batches, bit for bit."""
    pairs = zip(ours, theirs, strict=False)
    return all(
        one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)
        for one, other in (next(pairs) for _ in range(batches))
    )


def measure(flags: Flags) -> dict[str, Any]:
    """All figures."""
    manifest = write_shards(FeedingClips(flags.rows // NUM_CLIPS, 0), Path(flags.work) / f"shards-{flags.rows}")
    compared = ways(flags, manifest)
    rates: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(flags.rounds):
        for name, batches in compared.items():
            rates[name].append(rate(batches(), flags.seconds))
    return {
        "rows": manifest.rows,
        "batch_rows": flags.batch_rows,
        "rates": rates,
        "equal": {name: equal(compared[OURS](), batches()) for name, batches in compared.items() if name != SCAN},
        "device": processor(),
        "versions": versions("pyarrow", "numpy", *(["pylance"] if find_spec("lance") else [])),
    }


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    ours = figures["rates"][OURS]
    rows = []
    for name, found in figures["rates"].items():
        ratio = median(a / b for a, b in zip(found, ours, strict=True))
        same = {True: "yes", False: "**no**", None: "–"}[figures["equal"].get(name)]
        spread = f"{min(found):,.0f} – {max(found):,.0f}"
        rows.append(f"| {name} | {median(found):,.0f} | {spread} | {ratio:.2f} | {same} |")
    used = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    return "\n".join(
        [
            "# Reading planned batches",
            "",
            f"{figures['rows']:,} clips of video 4096 + audio 1024 float16 + 20 tokens in the page cache, in shuffled",
            f"batches of {figures['batch_rows']}; one thread, in turns; medians of {len(ours)} rounds.",
            "",
            "| way | clips per second of processor time | lowest – highest | to ours | the same bytes |",
            "|---|---:|---:|---:|---|",
            *rows,
            "",
            "Verified: the checksum of every page is compared.",
            "",
            f"On {figures['device']}; {used}; `python -m benchmarks.reading`.",
            "",
        ]
    )


def main(argv: Sequence[str]) -> None:
    """Measure, print the page and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.reading")
    out = page_folder(flags.out)
    figures = measure(flags)
    write_page(out, "reading", figures, markdown(figures))
    print(markdown(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
