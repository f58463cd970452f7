"""A record kind: its features as binary columns, their dtypes, and its Arrow schema with both in the metadata."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from vtr_core.errors import SchemaMismatch

FEATURE_DTYPE = np.dtype(np.float16)
TOKEN_DTYPE = np.dtype(np.int32)
PIXEL_DTYPE = np.dtype(np.uint8)
MAX_SIZE = 2**24
"""Maximum number of values of a vector, or of words of a caption."""
_METADATA_KEY = b"vtr"

S = TypeVar("S", bound="RecordSchema")


def array_dtype(column: str) -> np.dtype:
    """The dtype of the values in a column's binary cells, of tokens, pixels or features."""
    match column:
        case "tokens" | "candidate_tokens":
            return TOKEN_DTYPE
        case "pixels" | "frames":
            return PIXEL_DTYPE
        case _:
            return FEATURE_DTYPE


@dataclass(frozen=True)
class FeatureSpec:
    """A float16 feature column: `dim` values per clip, or per frame of a video."""

    name: str
    dim: int

    @property
    def presence(self) -> str:
        """The name of the boolean column of a `clips` shard for the presence of the feature."""
        return f"has_{self.name}"

    @property
    def count(self) -> str:
        """The name of the column of a `videos` or `steps` shard with the number of frames, possibly 0."""
        return f"num_{self.name}"


@dataclass(frozen=True)
class RecordSchema(ABC):
    """Settings of all record kinds: features, and captions of at most `max_words` words."""

    kind: ClassVar[str]
    version: ClassVar[int]

    features: tuple[FeatureSpec, ...]
    max_words: int = 20

    @classmethod
    def label(cls) -> str:
        """Kind and version for messages: `clips/1`."""
        return f"{cls.kind}/{cls.version}"

    def arrow(self) -> pa.Schema:
        """The Arrow schema, with kind, version, dimensions and dtypes in its metadata."""
        return pa.schema(self._fields(), metadata={_METADATA_KEY: json.dumps(self.to_json()).encode()})

    @abstractmethod
    def _fields(self) -> list[pa.Field]: ...

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        return {
            "kind": self.kind,
            "version": self.version,
            "max_words": self.max_words,
            "features": {f.name: {"dim": f.dim, "dtype": FEATURE_DTYPE.name} for f in self.features},
        }

    @classmethod
    def from_json(cls: type[S], value: dict[str, Any], where: str) -> S:
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or dtype."""
        if (value.get("kind"), value.get("version")) != (cls.kind, cls.version):
            raise schema_mismatch(value, where, cls.label())
        features, max_words = value["features"], value["max_words"]
        assert isinstance(features, dict)
        require_size("max_words", max_words)
        for name, spec in features.items():
            if spec["dtype"] != FEATURE_DTYPE.name:
                raise SchemaMismatch(f"{where}: column {name} is {spec['dtype']}, this code reads {FEATURE_DTYPE.name}")
            if not name.isidentifier():
                raise ValueError(f"{name!r} cannot name a feature")
            require_size(name, spec["dim"])
        return cls(tuple(FeatureSpec(name, spec["dim"]) for name, spec in features.items()), max_words)


def require_size(name: str, size: object) -> None:
    """ValueError unless `size` is a valid number of values of a row."""
    if type(size) is not int or not 0 < size <= MAX_SIZE:
        raise ValueError(f"{name} has the size {size!r}; it must be an integer from 1 to {MAX_SIZE}")


def schema_mismatch(value: dict[str, Any], where: str, readable: str) -> SchemaMismatch:
    """The error for the schema `value` of another kind or version than `readable`."""
    found = f"{value.get('kind')}/{value.get('version')}"
    return SchemaMismatch(f"{where} is {found}, this code reads {readable}; rebuild it with vtr ingest")
