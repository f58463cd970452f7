"""`System` of the dual encoder: whole videos and sentences in a latent space, a concept space, or both."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.subcommands import Subcommand
from vtr_core.systems.system import Presets, System, columns, margin_setting

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.dual.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.dual.presets import DUAL_BASES, DUAL_VARIANTS, dual_variant
    from vtr_core.systems.dual.space import SPACES

    return Presets(DUAL_BASES, tuple(DUAL_VARIANTS), dual_variant, SPACES)










def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'hybrid_encoder': its batch normalisation needs all rows at once; "
            "leave it out, and lower batch.videos or batch.max_frames where memory is short"
        )


def _trained_vectors(model: HybridEncoderConfig) -> str:  # noqa: ARG001  any of them has it
    return "model.train_vectors"


def _reads_texts(model: HybridEncoderConfig) -> bool:
    return model.text_encoder is not None


def _text_encoder(model: HybridEncoderConfig) -> str | None:
    return "model.text_encoder" if _reads_texts(model) else None


def _num_concepts(model: HybridEncoderConfig) -> int | None:
    return model.num_concepts


def _usual_features(model: HybridEncoderConfig) -> "Mapping[str, int]":
    """ResNeXt-101's and ResNet-152's features of frames, concatenated."""
    return {model.feature: 4096}


DUAL = System(
    name="dual",
    configs=(HybridEncoderConfig,),
    losses=(DualTripletConfig,),
    used_by="vtr evaluate, vtr index, vtr search, vtr explain and vtr analyze",
    reads="videos",
    implementation=_implementation,
    presets=_presets,
    check=_check,
    trained_vectors=_trained_vectors,
    reads_unknown_words=True,
    reads_texts=_reads_texts,
    reads_words_too=True,
    text_encoder=_text_encoder,
    num_concepts=_num_concepts,
    usual_features=_usual_features,
    reads_features=columns,
    granularity=margin_setting,
)
