"""The adapter's configuration: the pretrained encoder under it, and what is trained on top."""

from typing import Literal

from vtr_core.config.blocks.text_encoder import EncoderRecord
from vtr_core.config.model_inputs import ModelInputs, Probability
from vtr_core.config.settings import PositiveInt, Settings


class AdapterConfig(Settings):
    """Projections of text and frames that add to the vectors of a frozen encoder."""

    kind: Literal["adapter"] = "adapter"
    inputs: ModelInputs = ModelInputs()
    encoder: EncoderRecord = EncoderRecord()
    feature: str = "video"
    """The feature column of the encoder's rows, pooled over a clip: their mean, or mean and standard deviation."""
    hidden_dim: PositiveInt = 512
    """Width of the projections' hidden layer."""
    dropout: Probability = 0.5
    """Dropout on the projections' inputs and hidden layers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature,)
