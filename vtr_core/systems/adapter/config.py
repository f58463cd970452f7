"""The adapter's configuration: the pretrained encoder under it, and what is trained on top."""

from typing import Literal

from vtr_core.config.blocks.text_encoder import EncoderRecord
from vtr_core.config.settings import ModelInputs, NonNegativeInt, Probability, Settings


class AdapterConfig(Settings):
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

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature,)
