"""The adapter's configuration: the pretrained encoder under it, and what is trained on top; and its `System`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from vtr_core.config.override import ModelInputs, NonNegativeInt, Probability
from vtr_core.config.pretrained import EncoderRecord
from vtr_core.config.run import ModelConfig
from vtr_core.systems.system import Presets, RecordKind, System, columns, never

if TYPE_CHECKING:
    from vtr_core.config.run import TrainConfig
    from vtr_core.data.manifest import Manifest
    from vtr_core.encoders.encoder import Encoder
    from vtr_core.systems.implementation import Implementation


class AdapterConfig(ModelConfig):
    """Projections of text and frames that add to the vectors of a frozen encoder."""

    kind: Literal["adapter"] = "adapter"
    inputs: ModelInputs = ModelInputs()
    encoder: EncoderRecord = EncoderRecord()
    feature: str = "video"
    """The feature column of the encoder's rows."""
    frames: Literal["pooled", "attention"] = "pooled"
    """`pooled`: clips, whose rows are stored as their mean, or mean and standard deviation. `attention`: whole videos,
    all of whose rows are read, and weighted by a trained softmax that begins at the mean."""
    hidden_dim: NonNegativeInt = 0
    """Width of a hidden layer of the projection of video, for features that the encoder did not make; 0: linear."""
    dropout: Probability = 0.5
    """Dropout on the projections' inputs."""

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return ADAPTER

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature,)


def _implementation() -> "Implementation":
    from vtr_core.systems.adapter.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.adapter.presets import ADAPTER_PRESETS

    return ADAPTER_PRESETS


def _zero_shot(encoder: "Encoder") -> "TrainConfig":
    from vtr_core.systems.adapter.implementation import zero_shot_config

    return zero_shot_config(encoder)


def _inputs(manifest: "Manifest", model: AdapterConfig) -> dict[str, Any]:
    from vtr_core.systems.adapter.implementation import adapter_inputs

    return adapter_inputs(manifest, model)


def _takes(model: AdapterConfig) -> tuple[str, ...]:
    return model.columns


def _reads_instead(model: AdapterConfig) -> RecordKind | None:
    return "videos" if model.frames == "attention" else None


def _usual_features(model: AdapterConfig) -> "Mapping[str, int]":
    """EfficientNet-Lite0's rows, pooled to their mean and standard deviation for clips."""
    return {model.feature: 1280 if model.frames == "attention" else 2560}


def _always(*_: Any) -> bool:
    return True


ADAPTER = System(
    name="adapter",
    configs=(AdapterConfig,),
    reads="clips",
    implementation=_implementation,
    presets=_presets,
    inputs=_inputs,
    takes=_takes,
    standardizes=_always,
    reads_instead=_reads_instead,
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
    reads_texts=_always,
    zero_shot=_zero_shot,
)
