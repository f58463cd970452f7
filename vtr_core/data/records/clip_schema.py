"""`clips/1`: clips with one caption and one vector per feature."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from vtr_core.data.records.record_schema import FEATURE_DTYPE, TOKEN_DTYPE, RecordSchema

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


def kept_column(name: str) -> str:
    """The column of a `clips` shard that holds the kept column `name` of the source's table."""
    return f"kept_{name}"


@dataclass(frozen=True)
class ClipSchema(RecordSchema):
    """`clips/1`: one row per clip and caption; rows with the same `clip_id` are of the same clip."""

    kind = "clips"
    version = 1

    kept: tuple[str, ...] = ()
    """Columns of the source's table that are kept as text, each in the column `kept_column`."""

    def _fields(self) -> list[pa.Field]:
        fields = [pa.field(name, kind, nullable=False) for name, kind in CLIP_COLUMNS]
        fields.append(pa.field("tokens", pa.binary(self.max_words * TOKEN_DTYPE.itemsize), nullable=False))
        for feature in self.features:
            fields.append(pa.field(feature.name, pa.binary(feature.dim * FEATURE_DTYPE.itemsize), nullable=False))
            fields.append(pa.field(feature.presence, pa.bool_(), nullable=False))
        return [*fields, *(pa.field(kept_column(name), pa.string(), nullable=False) for name in self.kept)]

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        return {**super().to_json(), **({"kept": list(self.kept)} if self.kept else {})}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> "ClipSchema":
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or dtype."""
        plain, kept = super().from_json(value, where), value.get("kept", [])
        if not all(isinstance(name, str) and name.isidentifier() for name in kept):
            raise ValueError(f"{kept!r} cannot name kept columns")
        return cls(plain.features, plain.max_words, tuple(kept))
