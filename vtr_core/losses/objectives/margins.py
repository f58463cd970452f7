"""The margin of a training step."""

from typing import assert_never

from jaxtyping import Float
from torch import Tensor

from vtr_core.config.losses.margins import AdaptiveMargin, ConstantMargin, GeometricMargin, LinearMargin, MarginConfig


def margin_at(
    config: MarginConfig, step: int, a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"]
) -> float | Float[Tensor, " batch"]:
    """δ at `step` (counted from 0): a number, or one per row where the margin adapts to the similarities of a and b.

    See `scheduled_margin` for the numbers and `adaptive_margin` for the margins per row.
    """
    match config:
        case ConstantMargin() | GeometricMargin() | LinearMargin():
            return scheduled_margin(config, step)
        case AdaptiveMargin():
            return adaptive_margin(a, b, config.scale)
        case _:
            assert_never(config)


def scheduled_margin(config: ConstantMargin | GeometricMargin | LinearMargin, step: int) -> float:
    """δ at `step`, counted from 0.

    constant: value.   geometric: initial · factor^⌊step / every⌋.
    linear: initial + (final − initial) · min(step / steps, 1).
    """
    match config:
        case ConstantMargin():
            return config.value
        case GeometricMargin():
            return config.initial * config.factor ** (step // config.every)
        case LinearMargin():
            return config.initial + (config.final - config.initial) * min(step / config.steps, 1.0)
        case _:
            assert_never(config)


def adaptive_margin(
    a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"], scale: float
) -> Float[Tensor, " batch"]:
    """α · (S_ii − mean over j ≠ i of S_ij) of S = a bᵀ, detached: no gradient flows through a margin.

    The mean is over the whole row except the diagonal, including entries that are no negatives; with a single row it
    is 0.
    Σ_j S_ij = a_i · Σ_j b_j, so the matrix itself is not needed.
    """
    a, b = a.detach(), b.detach()
    matches = (a * b).sum(dim=1)
    return scale * (matches - (a @ b.sum(dim=0) - matches) / max(len(a) - 1, 1))
