"""The margin of a training step."""

from typing import assert_never

from jaxtyping import Float
from torch import Tensor

from vtr_core.config.loss import AdaptiveMargin, ConstantMargin, GeometricMargin, LinearMargin, MarginConfig


def margin_at(
    config: MarginConfig, step: int, similarity: Float[Tensor, "batch batch"]
) -> float | Float[Tensor, " batch"]:
    """δ at `step` (counted from 0): a number, or one per row where the margin adapts to the similarities.

    constant: value.   geometric: initial · factor^⌊step / every⌋.
    linear: initial + (final − initial) · min(step / steps, 1).   adaptive: `adaptive_margin`.
    """
    match config:
        case ConstantMargin():
            return config.value
        case GeometricMargin():
            return config.initial * config.factor ** (step // config.every)
        case LinearMargin():
            return config.initial + (config.final - config.initial) * min(step / config.steps, 1.0)
        case AdaptiveMargin():
            return adaptive_margin(similarity, config.scale)
        case _:
            assert_never(config)


def adaptive_margin(similarity: Float[Tensor, "batch batch"], scale: float) -> Float[Tensor, " batch"]:
    """α · (S_ii − mean over j ≠ i of S_ij), detached: no gradient flows through a margin.

    The mean is over the whole row but the diagonal, also where entries are no negatives; for a single row it is 0.
    """
    detached = similarity.detach()
    matches = detached.diagonal()
    return scale * (matches - (detached.sum(dim=1) - matches) / max(len(detached) - 1, 1))
