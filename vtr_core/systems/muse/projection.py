"""Tokens of a network that was not trained with captions, mapped to those that the model learns from."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.nn.initialization import keep_size
from vtr_core.nn.standardization import Standardization


class TokenProjection(nn.Module):
    """W (t − mean) / std + b for every token t of a frame, with the statistics of [CLS], or of all patches together.

    Patches have the same statistics at all places, so that a channel that is rarely active at one is not amplified
    there.
    """

    def __init__(self, given: int, grid: int | None, dim: int) -> None:
        super().__init__()
        self._given = given
        self.standardization = Standardization(given if grid is None else 2 * given)
        self.linear = nn.Linear(given, dim)
        keep_size(self.linear)

    def load(self, statistics: FeatureStatistics) -> None:
        """Takes the statistics of a column of frames, of the values of all their tokens."""
        means, deviations = (
            torch.from_numpy(values).double().unflatten(0, (-1, self._given))
            for values in (statistics.mean, statistics.std)
        )
        squares = means.square() + deviations.square()
        mean, square = (_cls_and_patches(values) for values in (means, squares))
        std = (square - mean.square()).clamp(min=0).sqrt()
        self.standardization.load(FeatureStatistics(mean.float().numpy(), torch.where(std > 0, std, 1).float().numpy()))

    def forward(self, tokens: Float[Tensor, "rows frames tokens given"]) -> Float[Tensor, "rows frames tokens dim"]:
        """The mapped tokens, [CLS] first."""
        which = [0] + [1] * (tokens.shape[2] - 1)
        mean, std = (
            values.unflatten(0, (-1, self._given))[which]
            for values in (self.standardization.mean, self.standardization.std)
        )
        return self.linear((tokens.to(self.linear.weight.dtype) - mean) / std)


def _cls_and_patches(values: Float[Tensor, "tokens given"]) -> Float[Tensor, " both"]:
    """The row of [CLS], and the mean of the patches' if there are any."""
    patches = values[1:]
    return values[0] if len(patches) == 0 else torch.cat([values[0], patches.mean(dim=0)])
