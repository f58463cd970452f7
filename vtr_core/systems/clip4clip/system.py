"""`System` of CLIP4Clip: clips as frames, and captions, in CLIP's space."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.picture_inputs import picture_inputs
from vtr_core.systems.subcommands import Subcommand
from vtr_core.systems.system import Presets, System, margin_setting
from vtr_core.text.tokens.vocabulary import TEXT_BYTES

if TYPE_CHECKING:
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.clip4clip.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.clip4clip.presets import CLIP4CLIP_BASES, CLIP4CLIP_VARIANTS, clip4clip_variant

    return Presets(CLIP4CLIP_BASES, tuple(CLIP4CLIP_VARIANTS), clip4clip_variant, {})


def _of_source(model: Clip4ClipConfig) -> dict[str, Any]:
    """The encoder's record and sizes, and texts as bytes in the place of the data set's words."""
    if not model.backbone.reads_texts:
        return {}
    from vtr_core.encoders.trainable_source import recorded

    inputs = ModelInputs(num_words=256, max_words=TEXT_BYTES)
    return {"model.backbone": recorded(model.backbone).model_dump(), "model.inputs": inputs.model_dump()}


def _reads_texts(model: Clip4ClipConfig) -> bool:
    return model.backbone.reads_texts




CLIP4CLIP = System(
    name="clip4clip",
    configs=(Clip4ClipConfig,),
    reads="frames",
    implementation=_implementation,
    presets=_presets,
    inputs=picture_inputs,
    of_source=_of_source,
    reads_texts=_reads_texts,
    granularity=margin_setting,
)
