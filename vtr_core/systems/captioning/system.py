"""`System` of the captioner: whole videos, and the sentences generated for them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig
from vtr_core.systems.subcommands import Evaluation, Subcommand
from vtr_core.systems.system import Presets, System, margin_setting

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


def _captioning(argv: Sequence[str]) -> None:
    from vtr_core.systems.captioning.commands.command import main

    main(argv)


def _figures(checkpoint: str, data: str, prefix: str, experiment: str) -> Mapping[str, float]:
    from vtr_core.systems.captioning.commands.command import CaptioningFlags
    from vtr_core.systems.captioning.commands.evaluate import evaluate

    (result,) = evaluate(CaptioningFlags(checkpoint, (data,), experiment=experiment))
    return result.metrics(prefix)


def _lavender(argv: Sequence[str]) -> None:
    from vtr_core.systems.captioning.commands.lavender import main

    main(argv)


def _tables(argv: Sequence[str]) -> None:
    from vtr_core.systems.captioning.tables.command import main

    main(argv)


def _check(config: "TrainConfig") -> None:
    model, rows = config.model, config.batch.max_frames
    if isinstance(model, CaptionerConfig) and model.grid is not None and rows % model.grid**2:
        places = model.grid**2
        raise ConfigError(
            f"batch.max_frames = {rows} rows are no whole frames of model.grid = {model.grid}: {places} rows each; "
            f"give a multiple of {places}, {16 * places} for 16 frames"
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


def _usual_features(model: CaptionerConfig) -> "Mapping[str, int]":
    """ResNet-152's features of frames, or with a grid Video Swin's of places."""
    return {model.feature: 2048 if model.grid is None else 1024}


CAPTIONING = System(
    name="captioning",
    configs=(CaptionerConfig,),
    losses=(CaptioningLossConfig,),
    used_by="vtr evaluate --task captioning and vtr caption",
    reads="videos",
    implementation=_implementation,
    evaluation="captioning",
    evaluations=(
        Evaluation(
            "captioning",
            "BLEU, METEOR, ROUGE-L and CIDEr of generated captions; vtr evaluate --task captioning --help",
            _captioning,
            _figures,
        ),
    ),
    tables=(Subcommand("gmc", "video captioning with granularity bias as the margin, Tables 1 and 2", _tables),),
    imports=(Subcommand("lavender", "LAVENDER's weights as a captioner for a data set's words", _lavender),),
    presets=_presets,
    check=_check,
    check_data=_check_data,
    standardizes=_standardizes,
    usual_features=_usual_features,
    granularity=margin_setting,
)
