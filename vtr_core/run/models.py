"""The union of all systems' model configurations, and what the rest of the code asks of one."""

from typing import Annotated, assert_never

from pydantic import Field

from vtr_core.systems.capsules.config import (
    CapsuleNetConfig,
    FullyConnectedConfig,
    JointSpaceSettings,
    SelfAttentionBaselineConfig,
)
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.muse.config import MuseConfig, TextWords
from vtr_core.systems.siamese.config import SiameseConfig

ModelConfig = Annotated[
    CapsuleNetConfig
    | FullyConnectedConfig
    | SelfAttentionBaselineConfig
    | HybridEncoderConfig
    | MuseConfig
    | SiameseConfig
    | CaptionerConfig,
    Field(discriminator="kind"),
]
"""The union of all systems' models, tagged by `kind`."""


def trained_vectors(model: ModelConfig) -> str | None:
    """The dotted name of the setting that says whether word vectors are trained, which data without vectors sets.

    None for a model that reads no given word vectors.
    """
    match model:
        case HybridEncoderConfig():
            return "model.train_vectors"
        case MuseConfig():
            return "model.text.train_vectors" if isinstance(model.text, TextWords) else None
        case CapsuleNetConfig() | FullyConnectedConfig() | SelfAttentionBaselineConfig():
            return "model.words.train_vectors"
        case SiameseConfig() | CaptionerConfig():
            return None
        case _:
            assert_never(model)


def reads_videos(model: ModelConfig) -> bool:
    """Whether the model reads whole videos with their frames, and not clips."""
    return isinstance(model, HybridEncoderConfig | MuseConfig | CaptionerConfig)


def reads_images(model: ModelConfig) -> bool:
    """Whether the model reads images of subjects."""
    return isinstance(model, SiameseConfig)


def standardizes(model: ModelConfig) -> bool:
    """Whether the model keeps the training data's mean and deviation of its features."""
    return isinstance(model, JointSpaceSettings | CaptionerConfig) and model.standardize
