"""`System` of MUSE: whole videos at several scales, and captions, in one space."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vtr_core.config.blocks.learners import NoLearner
from vtr_core.errors import ConfigError
from vtr_core.systems.muse.config import MuseConfig, TextByEncoder, TextWords
from vtr_core.systems.subcommands import Subcommand
from vtr_core.systems.system import Presets, System, columns, margin_setting, never

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.implementation import Implementation

_CLIP_DIM = 512
"""Dimension of ViT-B/32's tokens in the joint space of images and captions."""


def _implementation() -> "Implementation":
    from vtr_core.systems.muse.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.muse.presets import MUSE_BASES, MUSE_VARIANTS, muse_variant
    from vtr_core.systems.muse.space import SPACES

    return Presets(MUSE_BASES, tuple(MUSE_VARIANTS), muse_variant, SPACES)




def _check(config: "TrainConfig") -> None:
    """ConfigError for parts of the model that could never be trained: tokens that no layer reads."""
    model = config.model
    assert isinstance(model, MuseConfig)
    if isinstance(model.learner, NoLearner) and (model.scales != (1,) or model.temporal_scales):
        raise ConfigError(
            f"model.learner.kind = 'none' keeps the [CLS] tokens as they are: nothing reads scales = {model.scales} "
            f"with temporal_scales = {model.temporal_scales}; use --model.scales [1] and --model.temporal_scales []"
        )


def _standardizes(model: MuseConfig) -> bool:
    return model.token_dim is not None


def _trained_vectors(model: MuseConfig) -> str | None:
    return "model.text.train_vectors" if isinstance(model.text, TextWords) else None


def _reads_texts(model: MuseConfig) -> bool:
    return isinstance(model.text, TextByEncoder)


def _text_encoder(model: MuseConfig) -> str | None:
    return "model.text.encoder" if _reads_texts(model) else None


def _usual_features(model: MuseConfig) -> "Mapping[str, int]":
    """CLIP's tokens, and its caption vectors if the model reads those."""
    tokens = 1 if model.grid is None else 1 + model.grid**2
    return {column: _CLIP_DIM * (tokens if column == model.feature else 1) for column in model.columns}


MUSE = System(
    name="muse",
    configs=(MuseConfig,),
    reads="videos",
    implementation=_implementation,
    presets=_presets,
    check=_check,
    trained_vectors=_trained_vectors,
    reads_texts=_reads_texts,
    text_encoder=_text_encoder,
    standardizes=_standardizes,
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
    granularity=margin_setting,
)
