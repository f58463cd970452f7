"""`System` of CLIP4Clip: clips as frames, and captions, in CLIP's space."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.errors import DatasetError
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.subcommands import Subcommand
from vtr_core.systems.system import Presets, System, margin_setting

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
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


def _inputs(manifest: "Manifest") -> dict[str, Any]:
    """The vocabulary and the size of the frames."""
    from vtr_core.data.records.required_kind import require_frames

    schema = require_frames(manifest.schema, manifest.uri)
    if schema.height != schema.width:
        shown = f"{schema.height} × {schema.width}"
        raise DatasetError(f"{manifest.uri} has frames of {shown} pixels; extract square ones with vtr extract")
    inputs = ModelInputs(num_words=manifest.vocabulary.num_words, max_words=schema.max_words)
    return {"model.inputs": inputs.model_dump(), "model.stored_size": schema.height}


CLIP4CLIP = System(
    name="clip4clip",
    configs=(Clip4ClipConfig,),
    reads="frames",
    implementation=_implementation,
    presets=_presets,
    inputs=_inputs,
    imports=(Subcommand("clip4clip", "CLIP4Clip, meanP or seqTransf (github.com/ArrowLuo/CLIP4Clip)", _import),),
    granularity=margin_setting,
)
