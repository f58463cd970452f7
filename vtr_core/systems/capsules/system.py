"""`System` of the capsule network and its baselines: clips in one joint space of captions and features."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vtr_core.systems.capsules.config import (
    CapsuleNetConfig,
    FullyConnectedConfig,
    JointSpaceSettings,
    SelfAttentionBaselineConfig,
)
from vtr_core.systems.subcommands import Subcommand
from vtr_core.systems.system import Presets, System, columns, margin_setting

if TYPE_CHECKING:
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.capsules.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.capsules.presets import BASES
    from vtr_core.systems.capsules.space import SPACES
    from vtr_core.systems.capsules.variants import VARIANTS, variant

    return Presets(BASES, tuple(VARIANTS), variant, SPACES)






def _trained_vectors(model: JointSpaceSettings) -> str | None:
    return None if _reads_texts(model) else "model.words.train_vectors"


def _reads_texts(model: JointSpaceSettings) -> bool:
    return model.words.encoder is not None


def _text_encoder(model: JointSpaceSettings) -> str | None:
    return "model.words.encoder" if _reads_texts(model) else None


def _usual_features(model: JointSpaceSettings) -> "Mapping[str, int]":
    """HowTo100M's features: concatenated 2D and 3D features, and DAVEnet's; of the model's modalities."""
    dims = {"video": 4096, "audio": 1024}
    return {name: dim for name, dim in dims.items() if name in (model.modalities or dims)}


def _takes(model: JointSpaceSettings) -> Sequence[str]:
    return model.modalities


def _standardizes(model: JointSpaceSettings) -> bool:
    return model.standardize


CAPSULES = System(
    name="capsules",
    configs=(CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig),
    used_by="vtr evaluate, vtr index, vtr search and vtr explain",
    reads="clips",
    implementation=_implementation,
    presets=_presets,
    trained_vectors=_trained_vectors,
    reads_texts=_reads_texts,
    text_encoder=_text_encoder,
    standardizes=_standardizes,
    usual_features=_usual_features,
    takes=_takes,
    reads_features=columns,
    granularity=margin_setting,
)
