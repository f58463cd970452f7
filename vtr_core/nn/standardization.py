"""Standardisation of features to mean 0 and standard deviation 1."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.data.reading.statistics import FeatureStatistics


class Standardization(nn.Module):
    """(f − mean) / std per dimension, with the training data's mean and standard deviation.

    Both are buffers: not trained, but saved with the model. Until they are loaded the features stay as they are.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))

    def load(self, statistics: FeatureStatistics) -> None:
        """Take the statistics of a data set."""
        self.mean.copy_(torch.from_numpy(statistics.mean))
        self.std.copy_(torch.from_numpy(statistics.std))

    def forward(self, features: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        """The standardised features."""
        return (features - self.mean) / self.std
