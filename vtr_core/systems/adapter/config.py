"""The adapter's configuration: the pretrained encoder under it, and what is trained on top."""

from typing import Annotated, Literal

from pydantic import Field

from vtr_core.config.model_inputs import ModelInputs, Probability
from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings


class EncoderRecord(Settings):
    """A pretrained encoder as a checkpoint names it: enough to build its parts without its weights."""

    name: str = "bundled"
    """As `vtr_core.encoder` takes it."""
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = "0" * 64
    """sha256 of weights and preprocessing."""
    dim: PositiveInt = 384
    """Dimension of the joint space."""
    token_dim: PositiveInt | None = None
    """Dimension of a text token's vector; None where the encoder gives none."""
    feature_dim: NonNegativeInt = 0
    """Dimension of a stored row of frames; 0 for an encoder of text alone."""
    classes: NonNegativeInt = 0
    """Named concepts of its head; 0 where stored rows are vectors of the joint space."""


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
