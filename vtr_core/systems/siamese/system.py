"""`System` of Siamese networks: images of subjects, and whether two are of the same one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.errors import ConfigError
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig, SiameseConfig
from vtr_core.systems.subcommands import Evaluation, Subcommand
from vtr_core.systems.system import Presets, System

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.siamese.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.siamese.presets import SIAMESE_BASES, SIAMESE_VARIANTS, siamese_variant
    from vtr_core.systems.siamese.space import SPACES

    return Presets(SIAMESE_BASES, tuple(SIAMESE_VARIANTS), siamese_variant, SPACES)








def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'siamese': its batch normalisation needs all rows at once; "
            "leave it out, and lower batch.videos or batch.clips_per_video where memory is short"
        )
    if config.batch.videos < 2 or config.batch.clips_per_video < 2:
        raise ConfigError(
            f"batch.videos = {config.batch.videos} subjects with batch.clips_per_video = "
            f"{config.batch.clips_per_video} images each make no pairs of both kinds; use 2 or more of each"
        )


def _inputs(manifest: "Manifest", model: Any) -> dict[str, Any]:  # noqa: ARG001  as `System.inputs`
    """The images' shape; no vocabulary or features."""
    from vtr_core.data.records.required_kind import require_images

    schema = require_images(manifest.schema, manifest.uri)
    shape = {"height": schema.height, "width": schema.width, "channels": schema.channels}
    return {"model.image": shape, "model.inputs": ModelInputs().model_dump()}


SIAMESE = System(
    name="siamese",
    configs=(SiameseConfig,),
    losses=(PairContrastiveConfig, PairDoubleMarginConfig),
    used_by="vtr evaluate --task verification and vtr verify",
    reads="images",
    implementation=_implementation,
    evaluation="verification",
    presets=_presets,
    check=_check,
    inputs=_inputs,
)
