"""The record kinds of shards as versioned Arrow schemas: clips, images, frames, videos and steps."""

import json
import math
from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar, get_args

import numpy as np
import pyarrow as pa

from vtr_core.config.override import LONGEST
from vtr_core.errors import ConfigError, SchemaMismatch

FEATURE_DTYPE = np.dtype(np.float16)
TOKEN_DTYPE = np.dtype(np.int32)
PIXEL_DTYPE = np.dtype(np.uint8)
MAX_SIZE = 2**24
"""Maximum number of values of a vector, or of words of a caption."""
FRAMES = "frames"
"""The column of a clip's frames, and in a batch that of their pixels."""
PIXELS = "pixels"
"""The column of an image's pixels, (height, width, channels) in row-major order."""
CAPTION_VECTORS = "text"
"""The feature of whole videos that has a vector for each caption, in order, instead of each frame."""
Columns = tuple[tuple[str, pa.DataType], ...]

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


def _require_sizes(**sizes: object) -> None:
    """ValueError unless all `sizes` are valid numbers of values of a row."""
    for name, size in sizes.items():
        if type(size) is not int or not 0 < size <= MAX_SIZE:
            raise ValueError(f"{name} has the size {size!r}; it must be an integer from 1 to {MAX_SIZE}")


@dataclass(frozen=True)
class RecordSchema(ABC):
    """Settings of all record kinds: features, and captions of at most `max_words` words."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    columns: ClassVar[Columns]
    """Columns of every shard, before those of the settings. A key is the 64-bit hash of an id or caption."""

    features: tuple[FeatureSpec, ...]
    max_words: int = 20

    @classmethod
    def label(cls) -> str:
        """Kind and version for messages: `clips/1`."""
        return f"{cls.kind}/{cls.version}"

    def arrow(self) -> pa.Schema:
        """The Arrow schema, with kind, version, dimensions and dtypes in its metadata."""
        fields = [pa.field(name, kind, nullable=False) for name, kind in (*self.columns, *self._further())]
        return pa.schema(fields, metadata={b"vtr": json.dumps(self.to_json()).encode()})

    def _further(self) -> Columns:
        """For each feature a binary column of frames, (frames, dim), empty where absent, and one of their number."""
        columns = (((f.name, pa.binary()), (f.count, pa.int32())) for f in self.features)
        return tuple(column for pair in columns for column in pair)

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
            raise _mismatch(value, where, cls.label())
        features, max_words = value["features"], value["max_words"]
        assert isinstance(features, dict)
        _require_sizes(max_words=max_words)
        if max_words > LONGEST:
            raise ValueError(f"a caption has {max_words} words; at most {LONGEST} are read")
        for name, spec in features.items():
            if spec["dtype"] != FEATURE_DTYPE.name:
                raise SchemaMismatch(f"{where}: column {name} is {spec['dtype']}, this code reads {FEATURE_DTYPE.name}")
            if not name.isidentifier():
                raise ValueError(f"{name!r} cannot name a feature")
            _require_sizes(**{name: spec["dim"]})
        specs = tuple(FeatureSpec(name, spec["dim"]) for name, spec in features.items())
        return cls(specs, max_words, **cls._settings(value, where))

    @classmethod
    def _settings(cls, value: dict[str, Any], where: str) -> dict[str, Any]:  # noqa: ARG003
        """The kind's own settings."""
        return {}


def _mismatch(value: dict[str, Any], where: str, readable: str) -> SchemaMismatch:
    stored = f"{value.get('kind')}/{value.get('version')}"
    return SchemaMismatch(f"{where} is {stored}, this code reads {readable}; rebuild it with vtr ingest")


def _list(kind: pa.DataType) -> pa.ListType:
    return pa.list_(pa.field("element", kind, nullable=False))


_ENCODING = "jpeg"
_SPAN: Columns = (("start", pa.float64()), ("end", pa.float64()))
_CAPTIONS: Columns = (("captions", _list(pa.string())), ("caption_keys", _list(pa.int64())), ("tokens", pa.binary()))
"""All captions of a row; a cell of tokens is (captions, max_words) int32."""


def kept_column(name: str) -> str:
    """The column of a `clips` shard that holds the kept column `name` of the source's table."""
    return f"kept_{name}"


@dataclass(frozen=True)
class ClipSchema(RecordSchema):
    """`clips/1`: one row per clip and caption; rows with the same `clip_id` are of the same clip."""

    kind = "clips"
    columns = (
        ("clip_id", pa.string()),
        ("video_id", pa.string()),
        *_SPAN,
        ("caption", pa.string()),
        ("clip_key", pa.int64()),
        ("video_key", pa.int64()),
        ("caption_key", pa.int64()),
    )

    kept: tuple[str, ...] = ()
    """Columns of the source's table that are kept as text, each in the column `kept_column`."""

    def _further(self) -> Columns:
        columns = [("tokens", pa.binary(self.max_words * TOKEN_DTYPE.itemsize))]
        for feature in self.features:
            columns.append((feature.name, pa.binary(feature.dim * FEATURE_DTYPE.itemsize)))
            columns.append((feature.presence, pa.bool_()))
        return (*columns, *((kept_column(name), pa.string()) for name in self.kept))

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        return {**super().to_json(), **({"kept": list(self.kept)} if self.kept else {})}

    @classmethod
    def _settings(cls, value: dict[str, Any], where: str) -> dict[str, Any]:  # noqa: ARG003
        columns = value.get("kept", [])
        if not all(isinstance(name, str) and name.isidentifier() for name in columns):
            raise ValueError(f"{columns!r} cannot name kept columns")
        return {"kept": tuple(columns)}


@dataclass(frozen=True)
class VideoSchema(RecordSchema):
    """`videos/1`: one row per video with all its captions. The feature `text` has a vector for each caption."""

    kind = "videos"
    columns = (("video_id", pa.string()), ("video_key", pa.int64()), *_CAPTIONS)


@dataclass(frozen=True)
class StepSchema(RecordSchema):
    """`steps/1`: one row per video with a frame per second, its task's ordered steps and the annotated segments.

    `steps` are the texts and `labels` their classes, in order; a label may occur several times. Segments refer to
    labels, times in seconds. A cell of tokens is (steps, max_words) int32.
    """

    kind = "steps"
    columns = (
        ("video_id", pa.string()),
        ("video_key", pa.int64()),
        ("task", pa.string()),
        ("steps", _list(pa.string())),
        ("labels", _list(pa.string())),
        ("tokens", pa.binary()),
        (
            "segments",
            _list(pa.struct([pa.field(name, kind, nullable=False) for name, kind in (*_SPAN, ("label", pa.string()))])),
        ),
    )


@dataclass(frozen=True)
class ImageSchema(RecordSchema):
    """`images/1`: one row per image; the images of a subject are adjacent. All images have the same shape.

    Keys are those of image id and subject.
    """

    kind = "images"
    columns = (
        ("image_id", pa.string()),
        ("subject", pa.string()),
        ("clip_key", pa.int64()),
        ("video_key", pa.int64()),
    )

    height: int = 1
    width: int = 1
    channels: int = 1
    """1 is grey, 3 is RGB."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        return self.height, self.width, self.channels

    def _further(self) -> Columns:
        return ((PIXELS, pa.binary(self.height * self.width * self.channels * PIXEL_DTYPE.itemsize)),)

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        shape = {"height": self.height, "width": self.width, "channels": self.channels}
        return {**super().to_json(), PIXELS: {**shape, "dtype": PIXEL_DTYPE.name}}

    @classmethod
    def _settings(cls, value: dict[str, Any], where: str) -> dict[str, Any]:
        pixels = value[PIXELS]
        if pixels["dtype"] != PIXEL_DTYPE.name:
            raise SchemaMismatch(f"{where}: pixels are {pixels['dtype']}, this code reads {PIXEL_DTYPE.name}")
        shape = {name: pixels[name] for name in ("height", "width", "channels")}
        _require_sizes(**shape)
        _require_sizes(image=math.prod(shape.values()))
        if shape["channels"] not in (1, 3):
            raise ValueError(f"images have {shape['channels']} channels; 1 is grey, 3 is red, green and blue")
        return shape


@dataclass(frozen=True)
class FrameSchema(RecordSchema):
    """`frames/1`: one row per clip with all its captions and its frames, JPEG files with their times in the video."""

    kind = "frames"
    columns = (
        ("clip_id", pa.string()),
        ("clip_key", pa.int64()),
        ("video_id", pa.string()),
        ("video_key", pa.int64()),
        *_SPAN,
        *_CAPTIONS,
        ("times", _list(pa.float64())),
        (FRAMES, _list(pa.binary())),
    )

    height: int = 1
    width: int = 1

    def _further(self) -> Columns:
        return ()

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        pictures = {"height": self.height, "width": self.width, "encoding": _ENCODING}
        return {**super().to_json(), FRAMES: pictures}

    @classmethod
    def _settings(cls, value: dict[str, Any], where: str) -> dict[str, Any]:
        encoding = value[FRAMES]["encoding"]
        if encoding != _ENCODING:
            raise SchemaMismatch(
                f"{where}: frames are stored as {encoding!r}, this code reads {_ENCODING}; make it with vtr extract"
            )
        sizes = {name: value[FRAMES][name] for name in ("height", "width")}
        _require_sizes(**sizes)
        _require_sizes(frame=sizes["height"] * sizes["width"] * 3)
        return sizes


Schema = ClipSchema | VideoSchema | StepSchema | ImageSchema | FrameSchema
_KINDS: dict[object, type[Schema]] = {kind.kind: kind for kind in get_args(Schema)}


def read_schema(value: dict[str, Any], where: str) -> Schema:
    """The schema of any kind that `to_json` wrote at `where`; SchemaMismatch for an unknown kind, version or dtype."""
    kind = value.get("kind")
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind].from_json(value, where)
    *labels, last = [known.label() for known in _KINDS.values()]
    raise _mismatch(value, where, f"{', '.join(labels)} and {last}")


_TAKEN = {
    *(name for kind in (ClipSchema, VideoSchema, ImageSchema, FrameSchema) for name, _ in kind.columns),
    *(FRAMES, PIXELS, "tokens", "candidate_tokens", "step", "replaced"),
}
"""Columns of shards, and what batches hold beside features."""


def check_feature_names(names: Iterable[str]) -> None:
    """ConfigError for a name that is no plain word, or that shards or batches use for something else."""
    for name in names:
        taken = name in _TAKEN or name.startswith(("has_", "num_", "kept_")) or name.endswith("_key")
        if taken or not name.isidentifier():
            raise ConfigError(
                f"a feature cannot be called {name!r}: data sets use that name themselves, or it is no word of "
                "letters, digits and _; choose another, such as video or audio"
            )


_INSTEAD_OF_CLIPS = {
    "steps": ", videos with ordered steps; training and retrieval read clips/1; evaluate it with vtr evaluate "
    "<checkpoint> --task localization",
    "images": ", images of subjects; this reads clips/1; images are for vtr train siamese-att and vtr evaluate "
    "<checkpoint> --task verification",
    "frames": ", pictures of clips; this reads clips/1: extract features with vtr extract … --records clips --out "
    "<another folder>",
    "videos": ", whole videos with their frames; this model reads clips/1: ingest its source again with vtr ingest "
    "<source> … --records clips --out <another folder>",
}
"""What a data set of another kind is, and what is done with it, where clips are needed."""
_NEEDED = {
    "videos": "; this model reads videos/1, whole videos with their frames: make them with vtr ingest clip_tokens, or "
    "msrvtt or synthetic … --records videos, --out <another folder>",
    "images": "; Siamese networks read images/1, images of subjects: make them with vtr ingest faces or lfw",
    "frames": "; this reads frames/1, pictures of clips: make them with vtr extract … --records frames",
    "steps": ", localisation reads steps/1, videos with the ordered steps of a task; make one with vtr ingest "
    "crosstask, mining_youtube or synthetic_steps",
}
"""What is needed instead of a data set of another kind, and how it is made."""


def _required(kind: type[S], schema: Schema, where: str) -> S:
    """`schema` if it is of this kind; SchemaMismatch, with the remedy, for another kind at `where`."""
    if isinstance(schema, kind):
        return schema
    remedy = _INSTEAD_OF_CLIPS[schema.kind] if kind is ClipSchema else _NEEDED[kind.kind]
    raise SchemaMismatch(f"{where} is {schema.label()}{remedy}")


require_clips = partial(_required, ClipSchema)
require_videos = partial(_required, VideoSchema)
require_images = partial(_required, ImageSchema)
require_frames = partial(_required, FrameSchema)
require_steps = partial(_required, StepSchema)
