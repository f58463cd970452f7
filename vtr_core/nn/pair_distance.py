"""Distance of the encodings of two images."""

from typing import Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.nn.precision import full_precision

PairDistance = Literal["euclidean", "manhattan", "cosine"]


@full_precision
def pair_distance(
    first: Float[Tensor, "... dim"], second: Float[Tensor, "... dim"], kind: PairDistance
) -> Float[Tensor, "..."]:
    """The distance D of encodings, row by row; leading axes broadcast.

    euclidean   ‖a − b‖₂²                in [0, 4] of vectors of length 1
    manhattan   1 − exp(−‖a − b‖₁²)      in [0, 1)
    cosine      1 − a·b / (‖a‖ ‖b‖)      in [0, 2]; a zero vector is at distance 1 of everything

    The paper's exp(−‖·‖₁²) and cosine are similarities; here all three are distances, so that the same losses and
    thresholding rule apply to them. Source: Siamese Capsule Networks, section 4.1.
    """
    match kind:
        case "euclidean":
            return (first - second).square().sum(dim=-1)
        case "manhattan":
            return -torch.expm1(-(first - second).abs().sum(dim=-1).square())
        case "cosine":
            return 1 - (normalize(first, dim=-1) * normalize(second, dim=-1)).sum(dim=-1)
        case _:
            assert_never(kind)
