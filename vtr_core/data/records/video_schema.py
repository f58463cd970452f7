"""`videos/1` and `steps/1`: whole videos with a vector for each frame or second."""

from dataclasses import dataclass

import pyarrow as pa

from vtr_core.data.records.record_schema import FeatureSpec, RecordSchema

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
