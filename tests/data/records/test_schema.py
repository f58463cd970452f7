"""Schemas, names of features, and what another kind of records is told."""

import json

import pyarrow as pa
import pytest

from vtr_core.data.records.schema import (
    ClipSchema,
    FeatureSpec,
    FrameSchema,
    Schema,
    StepSchema,
    VideoSchema,
    check_feature_names,
    read_schema,
    require_clips,
    require_steps,
)
from vtr_core.errors import ConfigError, SchemaMismatch

FEATURES = (FeatureSpec("video", 4), FeatureSpec("audio", 2))
KINDS = [ClipSchema(FEATURES, 7), VideoSchema(FEATURES, 7), StepSchema(FEATURES, 7)]


@pytest.mark.parametrize("schema", [*KINDS, FrameSchema((), 7, 8, 16)])
def test_json_and_parquet_metadata_give_the_schema_back(schema: Schema) -> None:
    assert read_schema(schema.to_json(), "x") == schema
    assert read_schema(json.loads(schema.arrow().metadata[b"vtr"]), "x") == schema


def test_kinds_of_equal_features_differ() -> None:
    clips, videos, steps = KINDS
    assert clips != videos != steps
    assert (clips.label(), videos.label(), steps.label()) == ("clips/1", "videos/1", "steps/1")


def test_features_are_of_fixed_size_in_clips_and_of_variable_size_in_videos() -> None:
    clips, videos, steps = (schema.arrow() for schema in KINDS)
    assert (clips.field("video").type, clips.field("has_audio").type) == (pa.binary(8), pa.bool_())
    assert (videos.field("video").type, videos.field("num_audio").type) == (pa.binary(), pa.int32())
    assert (clips.field("tokens").type, videos.field("tokens").type) == (pa.binary(28), pa.binary())
    assert (steps.field("video").type, steps.field("num_audio").type) == (pa.binary(), pa.int32())
    assert not any(field.nullable for schema in (clips, videos, steps) for field in schema)


@pytest.mark.parametrize("schema", KINDS)
def test_another_version_or_dtype_is_named(schema: Schema) -> None:
    later = {**schema.to_json(), "version": 2}
    with pytest.raises(SchemaMismatch, match=f"x is {schema.kind}/2, this code reads {schema.label()}; rebuild"):
        read_schema(later, "x")
    wide = {**schema.to_json(), "features": {"video": {"dim": 4, "dtype": "float32"}}}
    with pytest.raises(SchemaMismatch, match="x: column video is float32, this code reads float16"):
        read_schema(wide, "x")


@pytest.mark.parametrize(("value", "stored"), [({}, "None/None"), ({"kind": "sounds", "version": 1}, "sounds/1")])
def test_another_kind_is_named(value: dict[str, object], stored: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"x is {stored}, .*clips/1, videos/1, steps/1, images/1 and frames/1"):
        read_schema(value, "x")


def test_an_unknown_encoding_of_frames_is_named() -> None:
    schema = FrameSchema((), 7, 8, 16)
    changed = {**schema.to_json(), "frames": {"height": 8, "width": 16, "encoding": "webp"}}
    with pytest.raises(SchemaMismatch, match="x: frames are stored as 'webp', this code reads jpeg; make it"):
        read_schema(changed, "x")


def test_clips_are_required() -> None:
    clips, videos, steps = KINDS
    assert require_clips(clips, "x") is clips
    with pytest.raises(SchemaMismatch, match=r"x is steps/1.*--task localization"):
        require_clips(steps, "x")
    with pytest.raises(SchemaMismatch, match=r"x is videos/1.*--records clips"):
        require_clips(videos, "x")


def test_steps_are_required() -> None:
    clips, videos, steps = KINDS
    assert require_steps(steps, "x") is steps
    for other in (clips, videos):
        with pytest.raises(SchemaMismatch, match=rf"x is {other.label()}, localisation reads steps/1"):
            require_steps(other, "x")


@pytest.mark.parametrize(
    "name",
    [
        "frames",
        "pixels",
        "tokens",
        "step",
        "replaced",
        "caption",
        "video_id",
        "my_key",
        "has_sound",
        "kept_topic",
        "a-b",
    ],
)
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"a feature cannot be called '{name}'"):
        check_feature_names(["video", name])


def test_words_are_names() -> None:
    check_feature_names(["video", "audio", "text", "clip_vit", "key_frames", "swin3d"])
