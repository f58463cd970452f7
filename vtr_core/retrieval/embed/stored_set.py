"""What one model makes of a data set, as it is stored: Parquet shards, and a record of them that is written last."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.config.record import record
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, is_file_name

VERSION = 1


@dataclass(frozen=True)
class StoredShard:
    """A Parquet file of rows."""

    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class StoredSet:
    """The content of the record: rows of a data set, in file order, as one model makes them."""

    checkpoint: str
    model_fingerprint: str
    data: str
    data_fingerprint: str
    shards: tuple[StoredShard, ...]
    version: int = VERSION

    @property
    def rows(self) -> int:
        """The number of rows in all shards."""
        return sum(shard.rows for shard in self.shards)

    def to_json(self) -> dict[str, Any]:
        """The set with its fingerprint."""
        value = {**asdict(self), "shards": [asdict(shard) for shard in self.shards]}
        return {**value, "fingerprint": fingerprint(value)}


S = TypeVar("S", bound=StoredSet)


def load_set(kind: type[S], place: Location) -> S:
    """The set that the file `place` records; DatasetError where it is damaged or of another version."""
    value = storage.read_json(place)
    try:
        if value["version"] != VERSION:
            raise ValueError(f"it is of version {value['version']}, this code reads {VERSION}")
        shards = tuple(record(StoredShard, shard) for shard in value["shards"])
        found = record(kind, {**value, "shards": shards})
        if value.get("fingerprint") != found.to_json()["fingerprint"]:
            raise ValueError("it does not match its fingerprint")
        if not all(is_file_name(shard.file) for shard in shards) or not shards:
            raise ValueError("its files are not those of a data set")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(place, error) from error
    return found


def write_shard(table: pa.Table, location: Location, **settings: Any) -> StoredShard:
    """Write a shard, atomically; settings: of `pyarrow.parquet.write_table`."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **settings)
    content = bytes(sink.getvalue())
    storage.write_bytes(location, content)
    return StoredShard(location.name, table.num_rows, len(content), hashlib.sha256(content).hexdigest())


def read_shard(folder: Location, shard: StoredShard, listed_in: str) -> bytes:
    """The bytes of a shard's file, which the record `listed_in` names; DatasetError where it is missing or damaged."""
    location = folder / shard.file
    if not storage.exists(location):
        raise DatasetError(f"{location} is missing though {listed_in} lists it; run vtr embed again")
    content = storage.read_bytes(location)
    if hashlib.sha256(content).hexdigest() != shard.sha256:
        raise damaged(location, "its sha256 differs")
    return content


def damaged(location: Location, fault: object) -> DatasetError:
    """The error for a file that is not as it was written."""
    return DatasetError(f"{location} is damaged ({fault}); run vtr embed again")
