"""The adapter's configuration: the pretrained encoder under it, and what is trained on top; and its `System`."""

from collections.abc import Mapping
from typing import Literal

from vtr_core.config.override import ModelInputs, NonNegativeInt, Probability
from vtr_core.config.pretrained import EncoderRecord
from vtr_core.config.run import ModelConfig
from vtr_core.systems.system import RecordKind, System, always, called, columns, imported, never

_MODULE = "vtr_core.systems.adapter.implementation"


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


def _reads_instead(model: AdapterConfig) -> RecordKind | None:
    return "videos" if model.frames == "attention" else None


def _usual_features(model: AdapterConfig) -> "Mapping[str, int]":
    """EfficientNet-Lite0's rows, pooled to their mean and standard deviation for clips."""
    return {model.feature: 1280 if model.frames == "attention" else 2560}


ADAPTER = System(
    name="adapter",
    configs=(AdapterConfig,),
    reads="clips",
    implementation=imported(_MODULE, "IMPLEMENTATION"),
    presets=imported("vtr_core.systems.adapter.presets", "ADAPTER_PRESETS"),
    inputs=called(_MODULE, "adapter_inputs"),
    takes=columns,
    standardizes=always,
    reads_instead=_reads_instead,
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
    reads_texts=always,
    zero_shot=called(_MODULE, "zero_shot_config"),
)
