"""Checks of a data set's record kind, and of the names of its feature columns."""

from collections.abc import Iterable
from typing import TypeVar

from vtr_core.data.records.schema import (
    CLIP_COLUMNS,
    FRAME_COLUMNS,
    IMAGE_COLUMNS,
    VIDEO_COLUMNS,
    ClipSchema,
    FrameSchema,
    ImageSchema,
    Schema,
    StepSchema,
    VideoSchema,
)
from vtr_core.errors import ConfigError, SchemaMismatch

S = TypeVar("S", VideoSchema, ImageSchema, FrameSchema, StepSchema)


def require_clips(schema: Schema, where: str) -> ClipSchema:
    """`schema` if it is of clips; SchemaMismatch, with the remedy, for another kind at `where`."""
    if isinstance(schema, ClipSchema):
        return schema
    if isinstance(schema, StepSchema):
        raise SchemaMismatch(
            f"{where} is {schema.label()}, videos with ordered steps; training and retrieval read "
            f"{ClipSchema.label()}; evaluate it with vtr evaluate <checkpoint> --task localization"
        )
    if isinstance(schema, ImageSchema):
        raise SchemaMismatch(
            f"{where} is {schema.label()}, images of subjects; this reads {ClipSchema.label()}; "
            "images are for vtr train siamese-att and vtr evaluate <checkpoint> --task verification"
        )
    if isinstance(schema, FrameSchema):
        raise SchemaMismatch(
            f"{where} is {schema.label()}, pictures of clips; this reads {ClipSchema.label()}: "
            "extract features with vtr extract … --records clips --out <another folder>"
        )
    raise SchemaMismatch(
        f"{where} is {schema.label()}, whole videos with their frames; this model reads {ClipSchema.label()}: "
        "ingest its source again with vtr ingest <source> … --records clips --out <another folder>"
    )


def require_videos(schema: Schema, where: str) -> VideoSchema:
    """`schema` if it is of whole videos; SchemaMismatch, with the remedy, for another kind at `where`."""
    remedy = "make them with vtr ingest clip_tokens, or msrvtt or synthetic … --records videos, --out <another folder>"
    return _required(
        VideoSchema,
        schema,
        where,
        f"; this model reads {VideoSchema.label()}, whole videos with their frames: {remedy}",
    )


def require_images(schema: Schema, where: str) -> ImageSchema:
    """`schema` if it is of images; SchemaMismatch, with the remedy, for another kind at `where`."""
    remedy = "make them with vtr ingest faces, olivetti or lfw"
    return _required(
        ImageSchema, schema, where, f"; Siamese networks read {ImageSchema.label()}, images of subjects: {remedy}"
    )


def require_frames(schema: Schema, where: str) -> FrameSchema:
    """`schema` if it is of frames; SchemaMismatch, with the remedy, for another kind at `where`."""
    remedy = "make them with vtr extract … --records frames"
    return _required(FrameSchema, schema, where, f"; this reads {FrameSchema.label()}, pictures of clips: {remedy}")


def require_steps(schema: Schema, where: str) -> StepSchema:
    """`schema` if it is of videos with ordered steps; SchemaMismatch, with the remedy, for another kind at `where`."""
    remedy = "make one with vtr ingest crosstask, mining_youtube or synthetic_steps"
    return _required(
        StepSchema,
        schema,
        where,
        f", localisation reads {StepSchema.label()}, videos with the ordered steps of a task; {remedy}",
    )


def _required(kind: type[S], schema: Schema, where: str, otherwise: str) -> S:
    """`schema` if it is of the kind; else SchemaMismatch, which says what it is and then `otherwise`."""
    if isinstance(schema, kind):
        return schema
    raise SchemaMismatch(f"{where} is {schema.label()}{otherwise}")


_TAKEN = frozenset(
    name for columns in (CLIP_COLUMNS, VIDEO_COLUMNS, IMAGE_COLUMNS, FRAME_COLUMNS) for name, _ in columns
) | {"frames", "pixels", "tokens", "candidate_tokens", "step", "replaced"}
"""Columns of shards, and what batches hold beside features."""
_PREFIXES, _SUFFIX = ("has_", "num_", "kept_"), "_key"


def check_feature_names(names: Iterable[str]) -> None:
    """ConfigError for a name that is no plain word, or that shards or batches use for something else."""
    for name in names:
        taken = name in _TAKEN or name.startswith(_PREFIXES) or name.endswith(_SUFFIX)
        if taken or not name.isidentifier():
            raise ConfigError(
                f"a feature cannot be called {name!r}: data sets use that name themselves, or it is no word of "
                "letters, digits and _; choose another, such as video or audio"
            )
