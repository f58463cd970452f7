"""Check of a data set's features against a model of whole videos."""

from typing import Protocol, runtime_checkable

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError


@runtime_checkable
class ReadsFrames(Protocol):
    """The configuration of a model of whole videos."""

    @property
    def inputs(self) -> ModelInputs:
        """Features and vocabulary of its training data."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that it reads."""
        ...


def check_frames(manifest: Manifest, config: ReadsFrames) -> None:
    """DatasetError unless the data set has the model's features, in their dimensions."""
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    for name in config.columns:
        dim = config.inputs.features[name]
        if held.get(name) != dim:
            shown = ", ".join(f"{feature} ({size})" for feature, size in held.items())
            raise DatasetError(
                f"{manifest.uri} has the features {shown}; the model was trained on {name} ({dim}): "
                "ingest it with the same features as the training data"
            )
