"""Checks of a data set's record kind; errors name the command that makes the required one."""

from vtr_core.data.records.schema import ClipSchema, FrameSchema, ImageSchema, Schema, StepSchema, VideoSchema
from vtr_core.errors import SchemaMismatch


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
    if isinstance(schema, VideoSchema):
        return schema
    raise SchemaMismatch(
        f"{where} is {schema.label()}; this model reads {VideoSchema.label()}, whole videos with their frames: "
        "make them with vtr ingest clip_tokens, or msrvtt or synthetic … --records videos, --out <another folder>"
    )


def require_images(schema: Schema, where: str) -> ImageSchema:
    """`schema` if it is of images; SchemaMismatch, with the remedy, for another kind at `where`."""
    if isinstance(schema, ImageSchema):
        return schema
    raise SchemaMismatch(
        f"{where} is {schema.label()}; Siamese networks read {ImageSchema.label()}, images of subjects: make them with "
        "vtr ingest faces, olivetti or lfw"
    )


def require_frames(schema: Schema, where: str) -> FrameSchema:
    """`schema` if it is of frames; SchemaMismatch, with the remedy, for another kind at `where`."""
    if isinstance(schema, FrameSchema):
        return schema
    raise SchemaMismatch(
        f"{where} is {schema.label()}; this reads {FrameSchema.label()}, pictures of clips: make them with "
        "vtr extract … --records frames"
    )


def require_steps(schema: Schema, where: str) -> StepSchema:
    """`schema` if it is of videos with ordered steps; SchemaMismatch, with the remedy, for another kind at `where`."""
    if isinstance(schema, StepSchema):
        return schema
    raise SchemaMismatch(
        f"{where} is {schema.label()}, localisation reads {StepSchema.label()}, videos with the ordered steps of a "
        "task; make one with vtr ingest crosstask, mining_youtube or synthetic_steps"
    )
