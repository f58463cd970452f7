"""Heads of the latent and the concept space on an encoder's vector."""

import math

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.nn.batch_norm import PresentBatchNorm
from vtr_core.nn.fan_in import fan_in_linear


class LatentHead(nn.Module):
    """f = z / ‖z‖, z = dropout(BN(W φ + b)) (thesis, Eq. 3.7 and 3.8); rows that are not present give 0."""

    def __init__(self, in_dim: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.linear, self.norm = _linear(in_dim, dim), PresentBatchNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, values: Float[Tensor, "rows in_dim"], present: Bool[Tensor, " rows"]
    ) -> Float[Tensor, "rows dim"]:
        """Vectors of length 1."""
        return normalize(self.dropout(self.norm(self.linear(values), present)), dim=1)


class ConceptHead(nn.Module):
    """h = BN(W φ + b), the scores whose sigmoid is the probability of each concept (thesis, Eq. 3.10).

    Rows that are not present give 0. prior: the normalisation's β starts at logit(prior), so that training need not
    first unlearn predicting concepts that are rarely present (Lin et al. 2017, section 4.1, on rare classes). fan_in: W
    and b start uniform within ±1/√in, not by Glorot's rule with b = 0.
    """

    def __init__(self, in_dim: int, num_concepts: int, prior: float | None = None, *, fan_in: bool = False) -> None:
        super().__init__()
        self.linear = (fan_in_linear if fan_in else _linear)(in_dim, num_concepts)
        self.norm = PresentBatchNorm(num_concepts)
        if prior is not None:
            nn.init.constant_(self.norm.bias, math.log(prior / (1 - prior)))

    def forward(
        self, values: Float[Tensor, "rows in_dim"], present: Bool[Tensor, " rows"]
    ) -> Float[Tensor, "rows concepts"]:
        """Scores before the sigmoid."""
        return self.norm(self.linear(values), present)


def _linear(in_dim: int, dim: int) -> nn.Linear:
    layer = nn.Linear(in_dim, dim)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
