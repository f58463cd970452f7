"""Stored tables of a data set, such as captions by a model: Parquet shards, and a manifest that is written last."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.config.record import record
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.retrieval.embed.embeddings import EmbeddingShard
from vtr_core.storage import Location, is_file_name, locate

TABLE = "table.json"
VERSION = 1


@dataclass(frozen=True)
class TableSet:
    """The content of `table.json`: rows of a data set's clips or videos, in file order, as one model writes them."""

    output: str
    """What the rows are: captions, concepts, activations."""
    settings: dict[str, int | float]
    """Those that were given."""
    checkpoint: str
    model_fingerprint: str
    data: str
    data_fingerprint: str
    shards: tuple[EmbeddingShard, ...]
    version: int = VERSION

    @property
    def rows(self) -> int:
        """The number of rows in all shards."""
        return sum(shard.rows for shard in self.shards)

    def to_json(self) -> dict[str, Any]:
        """The set with its fingerprint."""
        value = {**asdict(self), "shards": [asdict(shard) for shard in self.shards]}
        return {**value, "fingerprint": fingerprint(value)}


def write_table(table: pa.Table, location: Location) -> EmbeddingShard:
    """Write a shard, atomically."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = bytes(sink.getvalue())
    storage.write_bytes(location, content)
    return EmbeddingShard(location.name, table.num_rows, len(content), hashlib.sha256(content).hexdigest())


def load_table_set(uri: str) -> TableSet:
    """The manifest of the tables at `uri`; DatasetError where it is missing or damaged."""
    location = locate(uri)
    storage.check_readable(location)
    if not storage.exists(location / TABLE):
        raise DatasetError(
            f"{uri} has no {TABLE}; make it with vtr embed <checkpoint> --data <URI> --out {uri} --write …"
        )
    value = storage.read_json(location / TABLE)
    try:
        if value["version"] != VERSION:
            raise ValueError(f"it is of version {value['version']}, this code reads {VERSION}")
        shards = tuple(record(EmbeddingShard, shard) for shard in value["shards"])
        found = record(TableSet, {**value, "shards": shards})
        if value.get("fingerprint") != found.to_json()["fingerprint"]:
            raise ValueError("it does not match its fingerprint")
        if not all(is_file_name(shard.file) for shard in shards) or not shards:
            raise ValueError("its files are not those of a table")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(location / TABLE, error) from error
    return found


def read_tables(uri: str) -> Iterator[pa.Table]:
    """The shards' tables, in the data set's order; DatasetError for a shard that is missing or damaged."""
    for shard in load_table_set(uri).shards:
        location = locate(uri) / shard.file
        if not storage.exists(location):
            raise DatasetError(f"{location} is missing though {TABLE} lists it; run vtr embed again")
        content = storage.read_bytes(location)
        if hashlib.sha256(content).hexdigest() != shard.sha256:
            raise _damaged(location, "its sha256 differs")
        yield pq.read_table(pa.BufferReader(content))


def _damaged(location: Location, fault: object) -> DatasetError:
    return DatasetError(f"{location} is damaged ({fault}); run vtr embed again")
