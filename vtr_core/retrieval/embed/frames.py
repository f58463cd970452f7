"""Whether a data set has the frames that a model of whole videos takes."""

from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.muse.config import MuseConfig


def check_frames(manifest: Manifest, config: HybridEncoderConfig | MuseConfig | CaptionerConfig) -> None:
    """DatasetError unless the data set has the features that the model takes, in their dimensions."""
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    for name in config.columns if isinstance(config, MuseConfig) else (config.feature,):
        dim = config.inputs.features[name]
        if held.get(name) != dim:
            shown = ", ".join(f"{feature} ({size})" for feature, size in held.items())
            raise DatasetError(
                f"{manifest.uri} has the features {shown}; the model was trained on {name} ({dim}): "
                "ingest it with the same features as the training data"
            )
