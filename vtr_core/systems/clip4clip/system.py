"""`System` of CLIP4Clip: clips as frames, and captions, in CLIP's space."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.picture_inputs import picture_inputs
from vtr_core.systems.subcommands import Subcommand
from vtr_core.systems.system import Presets, System, margin_setting

if TYPE_CHECKING:
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.clip4clip.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.clip4clip.presets import CLIP4CLIP_BASES, CLIP4CLIP_VARIANTS, clip4clip_variant

    return Presets(CLIP4CLIP_BASES, tuple(CLIP4CLIP_VARIANTS), clip4clip_variant, {})


def _import(argv: Sequence[str]) -> None:
    from vtr_core.systems.clip4clip.commands.import_clip4clip import main

    main(argv)


CLIP4CLIP = System(
    name="clip4clip",
    configs=(Clip4ClipConfig,),
    reads="frames",
    implementation=_implementation,
    presets=_presets,
    inputs=picture_inputs,
    imports=(Subcommand("clip4clip", "CLIP4Clip, meanP or seqTransf (github.com/ArrowLuo/CLIP4Clip)", _import),),
    granularity=margin_setting,
)
