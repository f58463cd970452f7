"""Primary capsules of images: convolutions whose channels at a position are the poses of the capsules there."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.capsules.agreement import Couplings, Nonlinearity, agree, bound
from vtr_core.nn.fan_in import fan_in_convolution_2d

KERNEL, STRIDE = 9, 2
INITIAL_GAIN = 0.1
"""Scale of the sums of votes at initialisation, relative to that of the input poses."""


class ConvolutionalCapsules(nn.Module):
    """`types` capsules of dimension `dim` at every position: `dim` 9 × 9 convolutions, stride 2 (Sabour et al. 2017).

    They are computed as one convolution to dim · types channels; channel k · types + c is component k of type c's pose.
    """

    def __init__(self, channels: int, types: int, dim: int, nonlinearity: Nonlinearity) -> None:
        super().__init__()
        self.dim, self.nonlinearity = dim, nonlinearity
        self.convolution = fan_in_convolution_2d(channels, dim * types, KERNEL, STRIDE)

    def forward(self, maps: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch capsules dim"]:
        """The poses, ordered by type and within a type row by row."""
        poses = self.convolution(maps).unflatten(1, (self.dim, -1))
        return bound(poses.flatten(2).transpose(1, 2), self.nonlinearity)


class RoutedCapsules(nn.Module):
    """`outputs` capsules from `inputs` ones by agreement, with a weight matrix for every pair: see `agree`.

    The matrices are drawn with standard deviation 0.1 · outputs / √(inputs · in_dim). With equal coupling coefficients
    of 1/outputs, the components of the sums of votes then have a tenth of the scale of those of the input poses,
    whatever the number of capsules. With sums as large as the poses, tanh starts saturated and little is learned.
    """

    def __init__(
        self,
        inputs: int,
        in_dim: int,
        outputs: int,
        out_dim: int,
        iterations: int,
        nonlinearity: Nonlinearity,
        couplings: Couplings,
    ) -> None:
        super().__init__()
        self.outputs, self.iterations = outputs, iterations
        self.nonlinearity: Nonlinearity = nonlinearity
        self.couplings: Couplings = couplings
        self.weight = nn.Parameter(torch.empty(inputs, in_dim, outputs * out_dim))
        share = outputs if couplings == "outputs" else inputs
        nn.init.normal_(self.weight, std=INITIAL_GAIN * share / (inputs * in_dim) ** 0.5)

    def forward(self, poses: Float[Tensor, "batch inputs in_dim"]) -> Float[Tensor, "batch outputs out_dim"]:
        """The routed poses."""
        return agree(self.votes(poses), self.iterations, self.nonlinearity, self.couplings)

    def votes(self, poses: Float[Tensor, "batch inputs in_dim"]) -> Float[Tensor, "batch outputs inputs out_dim"]:
        """û_ij = u_i W_ij: one matrix product for each input capsule, whose result is reshaped without a copy."""
        votes = torch.bmm(poses.transpose(0, 1), self.weight)
        return votes.unflatten(2, (self.outputs, -1)).permute(1, 2, 0, 3)
