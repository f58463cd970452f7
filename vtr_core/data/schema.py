"""The record kinds of shards as versioned Arrow schemas.

Feature columns are fixed-size *binary*: one contiguous buffer per column chunk, read without a copy. Their dtype and
dimension stand in the schema's metadata.
"""

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from vtr_core.errors import SchemaMismatch

KIND = "clips"
VERSION = 1
FEATURE_DTYPE = np.dtype(np.float16)
TOKEN_DTYPE = np.dtype(np.int32)
_METADATA_KEY = b"vtr"

CLIP_COLUMNS = (
    ("clip_id", pa.string()),
    ("video_id", pa.string()),
    ("start", pa.float64()),
    ("end", pa.float64()),
    ("caption", pa.string()),
    ("clip_key", pa.int64()),
    ("video_key", pa.int64()),
    ("caption_key", pa.int64()),
)
"""Columns of every `clips` shard beside tokens and features. A key is the 64-bit hash of the id or caption."""


@dataclass(frozen=True)
class FeatureSpec:
    """A feature column: `dim` values of float16 per clip, and whether the clip has it in `has_<name>`."""

    name: str
    dim: int

    @property
    def presence(self) -> str:
        """The name of the boolean column that says whether a clip has this feature."""
        return f"has_{self.name}"


@dataclass(frozen=True)
class ClipSchema:
    """`clips/1`: one row per clip and caption; rows that share a `clip_id` show the same clip."""

    features: tuple[FeatureSpec, ...]
    max_words: int = 20

    def arrow(self) -> pa.Schema:
        """The Arrow schema, with kind, version, dimensions and dtypes in its metadata."""
        fields = [pa.field(name, kind, nullable=False) for name, kind in CLIP_COLUMNS]
        fields.append(pa.field("tokens", pa.binary(self.max_words * TOKEN_DTYPE.itemsize), nullable=False))
        for feature in self.features:
            fields.append(pa.field(feature.name, pa.binary(feature.dim * FEATURE_DTYPE.itemsize), nullable=False))
            fields.append(pa.field(feature.presence, pa.bool_(), nullable=False))
        return pa.schema(fields, metadata={_METADATA_KEY: json.dumps(self.to_json()).encode()})

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        return {
            "kind": KIND,
            "version": VERSION,
            "max_words": self.max_words,
            "features": {f.name: {"dim": f.dim, "dtype": FEATURE_DTYPE.name} for f in self.features},
        }

    @classmethod
    def from_json(cls, value: dict[str, object], where: str) -> "ClipSchema":
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or dtype."""
        found = f"{value.get('kind')}/{value.get('version')}"
        if found != f"{KIND}/{VERSION}":
            raise SchemaMismatch(f"{where} is {found}, this code reads {KIND}/{VERSION}; rebuild it with vtr ingest")
        features, max_words = value["features"], value["max_words"]
        assert isinstance(features, dict)
        assert isinstance(max_words, int)
        for name, spec in features.items():
            if spec["dtype"] != FEATURE_DTYPE.name:
                raise SchemaMismatch(f"{where}: column {name} is {spec['dtype']}, this code reads {FEATURE_DTYPE.name}")
        return cls(tuple(FeatureSpec(name, spec["dim"]) for name, spec in features.items()), max_words)


def fixed_size_binary(rows: np.ndarray) -> pa.Array:
    """A 2-D array as a fixed-size binary column: row i is the bytes of `rows[i]`, without copying."""
    rows = np.ascontiguousarray(rows)
    width = rows.shape[1] * rows.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])


def as_rows(column: pa.FixedSizeBinaryArray, dtype: np.dtype) -> np.ndarray:
    """The inverse of `fixed_size_binary`: a (rows, dim) view of the column's buffer, without copying."""
    width = column.type.byte_width
    start = column.offset * width
    buffer = column.buffers()[1]
    flat = np.frombuffer(buffer, dtype, len(column) * width // dtype.itemsize, start)
    return flat.reshape(len(column), width // dtype.itemsize)
