"""Loss configurations."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from vtr_core.config.settings import Settings


class ConstantMargin(Settings):
    """The margin stays as it is."""

    kind: Literal["constant"] = "constant"
    value: NonNegativeFloat = 0.001
    """δ."""


class GeometricMargin(Settings):
    """The margin is multiplied by `factor` every `every` steps."""

    kind: Literal["geometric"] = "geometric"
    initial: PositiveFloat = 0.001
    """δ at step 0."""
    factor: PositiveFloat = 1.002
    """What δ is multiplied by."""
    every: PositiveInt = 1000
    """Steps between two multiplications."""


class LinearMargin(Settings):
    """The margin grows linearly from `initial` to `final` over `steps` steps and stays there."""

    kind: Literal["linear"] = "linear"
    initial: NonNegativeFloat = 0.0
    """δ at step 0."""
    final: NonNegativeFloat = 0.001
    """δ from step `steps` on."""
    steps: PositiveInt = 10000
    """Steps of growth."""


class AdaptiveMargin(Settings):
    """Row i has the margin scale · (S_ii − mean over j ≠ i of S_ij), detached."""

    kind: Literal["adaptive"] = "adaptive"
    scale: NonNegativeFloat = 0.5
    """α."""


MarginConfig = Annotated[ConstantMargin | GeometricMargin | LinearMargin | AdaptiveMargin, Field(discriminator="kind")]


class MaskedMarginSoftmaxConfig(Settings):
    """MMS on dot products, the capsule paper's loss."""

    kind: Literal["masked_margin_softmax"] = "masked_margin_softmax"
    margin: MarginConfig = ConstantMargin()
    same_video: Literal["keep", "mask"] = "keep"
    """Whether other clips of the same video count as negatives."""


class InfoNceConfig(Settings):
    """InfoNCE on L2-normalised embeddings with a temperature."""

    kind: Literal["info_nce"] = "info_nce"
    temperature: PositiveFloat = 0.07
    """Similarities are divided by it."""
    same_video: Literal["keep", "mask"] = "keep"
    """Whether other clips of the same video count as negatives."""


LossConfig = Annotated[MaskedMarginSoftmaxConfig | InfoNceConfig, Field(discriminator="kind")]
