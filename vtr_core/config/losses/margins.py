"""The margin of a loss over the steps of a run: one class per schedule, a tagged union over them."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from vtr_core.config.settings import PositiveInt, Settings


class ConstantMargin(Settings):
    """The margin stays as it is."""

    kind: Literal["constant"] = "constant"
    value: NonNegativeFloat = 0.001
    """Margin δ."""


class GeometricMargin(Settings):
    """The margin is multiplied by `factor` every `every` steps."""

    kind: Literal["geometric"] = "geometric"
    initial: PositiveFloat = 0.001
    """δ at step 0."""
    factor: PositiveFloat = 1.002
    """Factor by which δ grows every `every` steps."""
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
    """Scale α."""


MarginConfig = Annotated[ConstantMargin | GeometricMargin | LinearMargin | AdaptiveMargin, Field(discriminator="kind")]
