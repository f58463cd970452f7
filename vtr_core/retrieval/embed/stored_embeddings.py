"""The embeddings of a data set, as they are stored: Parquet shards of vectors, and their record."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.config.override import record
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.arrays import as_rows, fixed_size_binary
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.errors import DatasetError, command_line
from vtr_core.fingerprint import fingerprint, short
from vtr_core.storage import Location, is_file_name, locate
from vtr_core.storage.bounded_tables import check_parquet

VERSION, FILE = 1, "embeddings.json"
_VECTOR = np.dtype(np.float32)


@dataclass(frozen=True)
class StoredShard:
    """A Parquet file of rows."""

    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class EmbeddingSet:
    """The content of `embeddings.json`: the rows of a data set, in file order, as vectors of one model."""

    checkpoint: str
    model_fingerprint: str
    data: str
    data_fingerprint: str
    shards: tuple[StoredShard, ...]
    similarity: str
    """Of the vectors; of a dual encoder's concept scores, while its latent vectors are compared by cosine."""
    dims: dict[str, int]
    """Dimensions by modality, or by space of a dual encoder."""
    version: int = VERSION

    @property
    def rows(self) -> int:
        """The number of rows in all shards."""
        return sum(shard.rows for shard in self.shards)

    def to_json(self) -> dict[str, Any]:
        """The set with its fingerprint."""
        value = {**asdict(self), "shards": [asdict(shard) for shard in self.shards]}
        return {**value, "fingerprint": fingerprint(value)}

    def check(self, model: str, manifest: Manifest, uri: str) -> None:
        """DatasetError unless the set, at `uri`, is of `manifest` by the model with this fingerprint."""
        if manifest.fingerprint != self.data_fingerprint:
            raise DatasetError(
                f"{uri} holds embeddings of {self.data} as it was ({short(self.data_fingerprint)}), {manifest.uri} is "
                f"{short(manifest.fingerprint)}; run vtr embed again"
            )
        if model != self.model_fingerprint:
            raise DatasetError(
                f"{uri} holds embeddings by the model {short(self.model_fingerprint)}, the checkpoint is "
                f"{short(model)}; give its checkpoint, {self.checkpoint}, or run vtr embed again"
            )


def damaged(location: Location, fault: object) -> DatasetError:
    """The error for a file that is not as it was written."""
    return DatasetError(f"{location} is damaged ({fault}); run vtr embed again")


def load_embeddings(uri: str) -> EmbeddingSet:
    """The manifest of the embeddings at `uri`; DatasetError where it is missing or damaged."""
    location = locate(uri)
    storage.check_readable(location)
    if not storage.exists(location / FILE):
        if storage.exists(location / "_embed"):
            raise DatasetError(f"{uri} holds no embeddings yet: they are not complete; repeat the vtr embed command")
        raise DatasetError(
            f"{uri} holds no embeddings: it has no {FILE}; make them with "
            + command_line("embed", "CHECKPOINT", "--data", "URI", "--out", uri)
        )
    value = storage.read_json(location / FILE)
    try:
        if value["version"] != VERSION:
            raise ValueError(f"it is of version {value['version']}, this code reads {VERSION}")
        shards = tuple(record(StoredShard, shard) for shard in value["shards"])
        stored = record(EmbeddingSet, {**value, "shards": shards})
        if value.get("fingerprint") != stored.to_json()["fingerprint"]:
            raise ValueError("it does not match its fingerprint")
        if not all(is_file_name(shard.file) for shard in shards) or not shards or not stored.dims:
            raise ValueError("its files are not those of embeddings")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(location / FILE, error) from error
    return stored


def write_rows(rows: EmbeddedRows, location: Location) -> StoredShard:
    """Write a shard, atomically."""
    columns = {"clip_key": rows.clip_key, "video_key": rows.video_key}
    columns |= {name: fixed_size_binary(vectors.astype(_VECTOR)) for name, vectors in rows.vectors.items()}
    columns |= {f"has_{name}": present for name, present in rows.present.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="none", use_dictionary=False, write_statistics=False)
    content = bytes(sink.getvalue())
    storage.write_bytes(location, content)
    return StoredShard(location.name, len(rows.clip_key), len(content), hashlib.sha256(content).hexdigest())


def read_embeddings(stored: EmbeddingSet, uri: str) -> EmbeddedRows:
    """All rows, in the data set's order; one shard at a time is read into arrays that hold them all.

    DatasetError for a shard that is missing or damaged.
    """
    whole = EmbeddedRows(
        vectors={name: np.empty((stored.rows, dim), _VECTOR) for name, dim in stored.dims.items()},
        present={name: np.empty(stored.rows, np.bool_) for name in stored.dims},
        clip_key=np.empty(stored.rows, np.int64),
        video_key=np.empty(stored.rows, np.int64),
    )
    first = 0
    for shard in stored.shards:
        part = _read_rows(locate(uri) / shard.file, shard, stored.dims)
        place = slice(first, first + shard.rows)
        for name in stored.dims:
            whole.vectors[name][place], whole.present[name][place] = part.vectors[name], part.present[name]
        whole.clip_key[place], whole.video_key[place] = part.clip_key, part.video_key
        first += shard.rows
    return whole


def _read_rows(location: Location, shard: StoredShard, dims: dict[str, int]) -> EmbeddedRows:
    if not storage.exists(location):
        raise DatasetError(f"{location} is missing though {FILE} lists it; run vtr embed again")
    content = storage.read_bytes(location)
    if hashlib.sha256(content).hexdigest() != shard.sha256:
        raise damaged(location, "its sha256 differs")
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        check_parquet(pa.BufferReader(content), file.metadata, range(file.num_row_groups))
        table = file.read()
        column = {name: table.column(name).combine_chunks() for name in table.column_names}
        rows = EmbeddedRows(
            vectors={name: as_rows(_single_chunk(column[name]), _VECTOR) for name in dims},
            present={name: column[f"has_{name}"].to_numpy(zero_copy_only=False) for name in dims},
            **{name: column[name].to_numpy() for name in ("clip_key", "video_key")},
        )
        shapes = {name: vectors.shape for name, vectors in rows.vectors.items()}
        if shapes != {name: (shard.rows, dim) for name, dim in dims.items()}:
            raise ValueError("its vectors have other shapes")
    except Exception as error:  # whatever the parser meets in a file that someone else made
        raise damaged(location, error) from error
    return rows


def _single_chunk(column: Any) -> Any:
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
