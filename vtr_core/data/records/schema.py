"""The record kinds of shards as versioned Arrow schemas: clips, images, frames, videos and steps."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args

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


FrameEncoding = Literal["jpeg", "raw"]
"""Storage format of frames."""
FRAMES = "frames"
"""The column of a clip's frames, and in a batch that of their pixels."""
PIXELS = "pixels"
"""The column of an image's pixels, (height, width, channels) in row-major order."""

IMAGE_COLUMNS = (
    ("image_id", pa.string()),
    ("subject", pa.string()),
    ("clip_key", pa.int64()),
    ("video_key", pa.int64()),
)
"""Columns of every `images` shard beside the pixels. Keys are the 64-bit hashes of image id and subject."""

FRAME_COLUMNS = (
    ("clip_id", pa.string()),
    ("clip_key", pa.int64()),
    ("video_id", pa.string()),
    ("video_key", pa.int64()),
    ("start", pa.float64()),
    ("end", pa.float64()),
    ("captions", pa.list_(pa.field("element", pa.string(), nullable=False))),
    ("caption_keys", pa.list_(pa.field("element", pa.int64(), nullable=False))),
    ("tokens", pa.binary()),
    ("times", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    (FRAMES, pa.list_(pa.field("element", pa.binary(), nullable=False))),
)
"""Columns of every `frames` shard. A cell of tokens is (captions, max_words) int32; times in seconds, one per frame."""


@dataclass(frozen=True)
class ImageSchema(RecordSchema):
    """`images/1`: one row per image; the images of a subject are adjacent. All images have the same shape."""

    kind = "images"
    version = 1

    height: int = 1
    width: int = 1
    channels: int = 1
    """1 is grey, 3 is RGB."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        return self.height, self.width, self.channels

    def _fields(self) -> list[pa.Field]:
        fields = [pa.field(name, kind, nullable=False) for name, kind in IMAGE_COLUMNS]
        width = self.height * self.width * self.channels * PIXEL_DTYPE.itemsize
        return [*fields, pa.field(PIXELS, pa.binary(width), nullable=False)]

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        shape = {"height": self.height, "width": self.width, "channels": self.channels}
        return {**super().to_json(), PIXELS: {**shape, "dtype": PIXEL_DTYPE.name}}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> "ImageSchema":
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or dtype."""
        plain, pixels = super().from_json(value, where), value[PIXELS]
        if pixels["dtype"] != PIXEL_DTYPE.name:
            raise SchemaMismatch(f"{where}: pixels are {pixels['dtype']}, this code reads {PIXEL_DTYPE.name}")
        for name in ("height", "width", "channels"):
            require_size(name, pixels[name])
        require_size("an image", pixels["height"] * pixels["width"] * pixels["channels"])
        if pixels["channels"] not in (1, 3):
            raise ValueError(f"images have {pixels['channels']} channels; 1 is grey, 3 is red, green and blue")
        return cls(plain.features, plain.max_words, pixels["height"], pixels["width"], pixels["channels"])


@dataclass(frozen=True)
class FrameSchema(RecordSchema):
    """`frames/1`: one row per clip with all its captions and its frames, RGB, each with its time in the video."""

    kind = "frames"
    version = 1

    height: int = 1
    width: int = 1
    encoding: FrameEncoding = "jpeg"
    """jpeg: a cell is a list of JPEG files; raw: a list of pixel arrays, (height, width, 3) uint8."""

    def _fields(self) -> list[pa.Field]:
        return [pa.field(name, kind, nullable=False) for name, kind in FRAME_COLUMNS]

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        pictures = {"height": self.height, "width": self.width, "encoding": self.encoding}
        return {**super().to_json(), FRAMES: pictures}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> "FrameSchema":
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or encoding."""
        plain, pictures = super().from_json(value, where), value[FRAMES]
        known: tuple[FrameEncoding, ...] = get_args(FrameEncoding)
        encoding = next((one for one in known if one == pictures["encoding"]), None)
        if encoding is None:
            found = pictures["encoding"]
            raise SchemaMismatch(f"{where}: frames are stored as {found!r}, this code reads {', '.join(known)}")
        for name in ("height", "width"):
            require_size(name, pictures[name])
        require_size("a frame", pictures["height"] * pictures["width"] * 3)
        return cls(plain.features, plain.max_words, pictures["height"], pictures["width"], encoding)


CAPTION_VECTORS = "text"
"""The feature of whole videos that has a vector for each caption, in order, instead of each frame."""

VIDEO_COLUMNS = (
    ("video_id", pa.string()),
    ("video_key", pa.int64()),
    ("captions", pa.list_(pa.field("element", pa.string(), nullable=False))),
    ("caption_keys", pa.list_(pa.field("element", pa.int64(), nullable=False))),
    ("tokens", pa.binary()),
)
"""Columns of every `videos` shard beside features. A cell of tokens is (captions, max_words) int32."""

STEP_COLUMNS = (
    ("video_id", pa.string()),
    ("video_key", pa.int64()),
    ("task", pa.string()),
    ("steps", pa.list_(pa.field("element", pa.string(), nullable=False))),
    ("labels", pa.list_(pa.field("element", pa.string(), nullable=False))),
    ("tokens", pa.binary()),
    (
        "segments",
        pa.list_(
            pa.field(
                "element",
                pa.struct(
                    [
                        pa.field("start", pa.float64(), nullable=False),
                        pa.field("end", pa.float64(), nullable=False),
                        pa.field("label", pa.string(), nullable=False),
                    ]
                ),
                nullable=False,
            )
        ),
    ),
)
"""Columns of every `steps` shard beside features. A cell of tokens is (steps, max_words) int32; times in seconds."""


@dataclass(frozen=True)
class VideoSchema(RecordSchema):
    """`videos/1`: one row per video with all its captions; feature cells are (frames, dim), empty where absent.

    The feature `text` has a vector for each caption instead.
    """

    kind = "videos"
    version = 1

    def _fields(self) -> list[pa.Field]:
        fields = [pa.field(name, kind, nullable=False) for name, kind in VIDEO_COLUMNS]
        return [*fields, *frame_fields(self.features)]


@dataclass(frozen=True)
class StepSchema(RecordSchema):
    """`steps/1`: one row per video with a frame per second, its task's ordered steps and the annotated segments.

    `steps` are the texts and `labels` their classes, in order; a label may occur several times. Segments refer to
    labels. Feature cells are (seconds, dim), empty where absent.
    """

    kind = "steps"
    version = 1

    def _fields(self) -> list[pa.Field]:
        fields = [pa.field(name, kind, nullable=False) for name, kind in STEP_COLUMNS]
        return [*fields, *frame_fields(self.features)]


def frame_fields(features: tuple[FeatureSpec, ...]) -> list[pa.Field]:
    """For each feature a binary column of frames and a column of their number."""
    fields = []
    for feature in features:
        fields.append(pa.field(feature.name, pa.binary(), nullable=False))
        fields.append(pa.field(feature.count, pa.int32(), nullable=False))
    return fields


__all__ = [
    "CAPTION_VECTORS",
    "CLIP_COLUMNS",
    "FEATURE_DTYPE",
    "FRAMES",
    "PIXELS",
    "PIXEL_DTYPE",
    "TOKEN_DTYPE",
    "ClipSchema",
    "FeatureSpec",
    "FrameEncoding",
    "FrameSchema",
    "ImageSchema",
    "Schema",
    "StepSchema",
    "VideoSchema",
    "array_dtype",
    "kept_column",
    "read_schema",
]

Schema = ClipSchema | VideoSchema | StepSchema | ImageSchema | FrameSchema


def read_schema(value: dict[str, Any], where: str) -> Schema:
    """The schema of any kind that `to_json` wrote at `where`; SchemaMismatch for an unknown kind, version or dtype."""
    match value.get("kind"):
        case ClipSchema.kind:
            return ClipSchema.from_json(value, where)
        case VideoSchema.kind:
            return VideoSchema.from_json(value, where)
        case StepSchema.kind:
            return StepSchema.from_json(value, where)
        case ImageSchema.kind:
            return ImageSchema.from_json(value, where)
        case FrameSchema.kind:
            return FrameSchema.from_json(value, where)
        case _:
            known = ", ".join(kind.label() for kind in (ClipSchema, VideoSchema, StepSchema, ImageSchema))
            raise schema_mismatch(value, where, f"{known} and {FrameSchema.label()}")
