"""The record kinds of shards as versioned Arrow schemas.

Feature columns are *binary*, one buffer per column chunk: of fixed size where a row has one vector, else of variable
length. Their dtype and dimension are in the schema's metadata.
"""

from typing import Any

from vtr_core.data.records.clip_schema import CLIP_COLUMNS, ClipSchema, kept_column
from vtr_core.data.records.picture_schema import FRAMES, PIXELS, FrameEncoding, FrameSchema, ImageSchema
from vtr_core.data.records.record_schema import (
    FEATURE_DTYPE,
    PIXEL_DTYPE,
    TOKEN_DTYPE,
    FeatureSpec,
    array_dtype,
    schema_mismatch,
)
from vtr_core.data.records.video_schema import CAPTION_VECTORS, StepSchema, VideoSchema

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
