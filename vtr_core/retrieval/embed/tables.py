"""Stored tables of a data set, such as captions by a model: Parquet shards, and `table.json`, which is written last."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.errors import DatasetError
from vtr_core.retrieval.embed.stored_set import StoredSet, StoredShard, load_set, read_shard, write_shard
from vtr_core.storage import Location, locate

TABLE = "table.json"


@dataclass(frozen=True, kw_only=True)
class TableSet(StoredSet):
    """The content of `table.json`: rows of a data set's clips or videos."""

    output: str
    """What the rows are: captions, concepts, activations."""
    settings: dict[str, int | float]
    """Those that were given."""


def write_table(table: pa.Table, location: Location) -> StoredShard:
    """Write a shard, atomically."""
    return write_shard(table, location, compression="zstd")


def load_table_set(uri: str) -> TableSet:
    """The record of the tables at `uri`; DatasetError where it is missing or damaged."""
    location = locate(uri)
    storage.check_readable(location)
    if not storage.exists(location / TABLE):
        raise DatasetError(
            f"{uri} has no {TABLE}; make it with vtr embed <checkpoint> --data <URI> --out {uri} --write …"
        )
    return load_set(TableSet, location / TABLE)


def read_tables(uri: str) -> Iterator[pa.Table]:
    """The shards' tables, in the data set's order; DatasetError for a shard that is missing or damaged."""
    for shard in load_table_set(uri).shards:
        yield pq.read_table(pa.BufferReader(read_shard(locate(uri), shard, TABLE)))
