"""The adapter's configuration: the pretrained encoder under it, and what is trained on top."""

from typing import Annotated, Literal

from pydantic import Field

from vtr_core.config.model_inputs import ModelInputs, Probability
from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings


class EncoderRecord(Settings):
    """A pretrained encoder as a checkpoint names it: enough to build its parts without its weights."""

    name: str = "bundled"
    """As `vtr_core.encoder` takes it. Data whose features an encoder made is trained with that one."""
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = "0" * 64
    """sha256 of weights and preprocessing."""
    dim: PositiveInt = 384
    """Dimension of the joint space."""
    token_dim: PositiveInt | None = None
    """Dimension of a text token's vector; None where the encoder gives none."""
    feature_dim: NonNegativeInt = 0
    """Dimension of a stored row of frames; 0 where the features are not the encoder's, which then reads text alone."""
    classes: NonNegativeInt = 0
    """Named concepts of its head; 0 where stored rows are vectors of the joint space."""


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
