"""Ways to read the planned, shuffled clips: pyarrow's reader with several options, Lance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.feeding.data import NUM_CLIPS
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan, RowGroup
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.records.arrays import as_rows
from vtr_core.data.records.schema import array_dtype
from vtr_core.data.stream.assemble import assemble

OURS = "read, verified (ours)"
SCAN = "no batches: pyarrow's scan in file order, memory-mapped, not verified"
Batches = Iterator[Columns]


@dataclass(frozen=True)
class OtherReader(RowGroupReader):
    """Row groups by the same reader with other options."""

    verified: bool = True
    memory_map: bool = True

    def read(self, place: RowGroup) -> Columns:
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


def planned(batch_rows: int, manifest: Manifest, reader: RowGroupReader) -> Batches:
    """The plan's batches, without end."""
    batch = BatchConfig(videos=batch_rows // NUM_CLIPS, clips_per_video=NUM_CLIPS)
    plan = Plan(manifest, batch, 0)
    for number in count():
        yield from assemble(reader, plan.row_groups, plan.window(number))


def fresh(batches: Batches) -> Batches:
    """The same, with batches in fresh pages of the system."""
    with patch("vtr_core.data.stream.assemble.pooled", np.empty):
        while True:
            yield next(batches)


def scanned(manifest: Manifest) -> Batches:
    """Row groups of clips or whole videos in file order, copied into memory: no plan, no batches; a key of each row."""
    files = [Path(manifest.location.path) / shard.file for shard in manifest.shards]
    while True:
        for file in files:
            with pq.ParquetFile(file, memory_map=True) as source:
                for group in range(source.num_row_groups):
                    table = source.read_row_group(group, training_columns(manifest.schema), use_threads=False)
                    yield {"clip_key": table.column("video_key").to_numpy()}


def lance(batch_rows: int, work: Path, manifest: Manifest) -> Batches:
    """The planned rows of a Lance data set of the same columns, a batch at once."""
    import lance

    names, folder = training_columns(manifest.schema), work / f"lance-{manifest.rows}"
    if not folder.exists():
        files = [Path(manifest.location.path) / shard.file for shard in manifest.shards]
        lance.write_dataset(pa.concat_tables(pq.read_table(file, columns=names) for file in files), str(folder))
    dataset = lance.dataset(str(folder))
    groups = [sum(counts) for shard in manifest.shards for counts in shard.row_groups]
    first = np.cumsum(groups) - groups
    plan = Plan(manifest, BatchConfig(videos=batch_rows // NUM_CLIPS, clips_per_video=NUM_CLIPS), 0)
    for number in count():
        for batch in plan.window(number):
            table = dataset.take(first[batch.group] + batch.row, columns=names)
            yield {name: _array(name, table.column(name).combine_chunks()) for name in names}


def ways(batch_rows: int, work: Path, manifest: Manifest) -> dict[str, Callable[[], Batches]]:
    """What is compared, by name."""
    columns = training_columns(manifest.schema)
    own, read = RowGroupReader(manifest, columns), partial(planned, batch_rows, manifest)
    found: dict[str, Callable[[], Batches]] = {
        OURS: lambda: read(own),
        "the same, not verified": lambda: read(OtherReader(manifest, columns, verified=False, memory_map=False)),
        "the same into fresh pages": lambda: fresh(read(own)),
        "memory-mapped, verified": lambda: read(OtherReader(manifest, columns)),
        "memory-mapped, not verified": lambda: read(OtherReader(manifest, columns, verified=False)),
    }
    found[SCAN] = lambda: scanned(manifest)
    return found | (
        {"Lance, taken by row, not verified": partial(lance, batch_rows, work, manifest)} if find_spec("lance") else {}
    )
