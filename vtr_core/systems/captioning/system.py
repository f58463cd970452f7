"""`System` of the captioner: whole videos, and the sentences generated for them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vtr_core.errors import ConfigError
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig
from vtr_core.systems.picture_inputs import picture_inputs
from vtr_core.systems.subcommands import Evaluation, Subcommand
from vtr_core.systems.system import Presets, RecordKind, System, columns, margin_setting, never

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.captioning.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.captioning.presets import CAPTION_BASES, CAPTION_VARIANTS, caption_variant
    from vtr_core.systems.captioning.space import SPACES

    return Presets(CAPTION_BASES, tuple(CAPTION_VARIANTS), caption_variant, SPACES)












def _check(config: "TrainConfig") -> None:
    model, rows = config.model, config.batch.max_frames
    if isinstance(model, CaptionerConfig) and model.grid is not None and rows % model.grid**2:
        places = model.grid**2
        raise ConfigError(
            f"batch.max_frames = {rows} rows are no whole frames of model.grid = {model.grid}: {places} rows each; "
            f"give a multiple of {places}, {16 * places} for 16 frames"
        )
    if isinstance(model, CaptionerConfig) and model.backbone is not None and rows != model.backbone.frames:
        raise ConfigError(
            f"batch.max_frames = {rows} frames are read of a clip, and model.backbone.frames = {model.backbone.frames} "
            "are seen; give both the same number"
        )
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'captioner': its loss is no function of embeddings alone; leave it "
            "out, and lower batch.videos or loss.score.block_pairs where memory is short"
        )


def _check_data(manifest: "Manifest") -> None:
    """DatasetError for a video without captions."""
    from vtr_core.data.captions.information import check_captioned
    from vtr_core.data.captions.video_captions import video_captions

    check_captioned(video_captions(manifest), manifest.uri)


def _standardizes(model: CaptionerConfig) -> bool:
    return model.standardize


def _scores_captions(loss: CaptioningLossConfig) -> bool:
    return loss.self_critical is not None


def _reads_frames(model: CaptionerConfig) -> RecordKind | None:
    return None if model.backbone is None else "frames"


def _inputs(manifest: "Manifest", model: CaptionerConfig) -> dict[str, Any] | None:  # noqa: ARG001
    """The vocabulary and the size of the frames of a data set of frames."""
    from vtr_core.data.records.schema import FrameSchema

    return picture_inputs(manifest) if isinstance(manifest.schema, FrameSchema) else None


def _usual_features(model: CaptionerConfig) -> "Mapping[str, int]":
    """ResNet-152's features of frames, or with a grid Video Swin's of places; none with a backbone."""
    if model.backbone is not None:
        return {}
    return {model.feature: 2048 if model.grid is None else 1024}


CAPTIONING = System(
    name="captioning",
    configs=(CaptionerConfig,),
    losses=(CaptioningLossConfig,),
    used_by="vtr evaluate --task captioning and vtr caption",
    reads="videos",
    implementation=_implementation,
    evaluation="captioning",
    presets=_presets,
    check=_check,
    check_data=_check_data,
    standardizes=_standardizes,
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
    reads_instead=_reads_frames,
    inputs=_inputs,
    granularity=margin_setting,
    scores_captions=_scores_captions,
)
