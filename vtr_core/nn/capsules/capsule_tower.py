"""The capsule tower of images: convolutional capsules, face capsules by routing, concrete dropout."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from vtr_core.config.towers import CapsuleTower, ConcreteDropout
from vtr_core.nn.capsules.dynamic_routing import Couplings, Nonlinearity, agree, bound
from vtr_core.nn.normalization import ChannelBatchNorm

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
        self.convolution = nn.Conv2d(channels, dim * types, KERNEL, STRIDE)

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


class CapsuleDropout(nn.Module):
    """A relaxed mask z̃ for each row and capsule, with a learned rate p for each capsule (Gal et al. 2017, Eq. 5).

    z̃ = σ((logit p + logit u) / t), u uniform on (0, 1): near 1 the capsule is dropped;  x̃ = x (1 − z̃) / (1 − p)

    With `compat` "paper" z̃ = σ(logit p / t + logit u), Equation 2 of Siamese Capsule Networks as printed. In
    evaluation poses stay as they are.
    """

    def __init__(self, num_capsules: int, config: ConcreteDropout) -> None:
        super().__init__()
        self.config = config
        start = math.log(config.initial_rate) - math.log1p(-config.initial_rate)
        self.logit = nn.Parameter(torch.full((num_capsules,), start))

    def forward(self, poses: Float[Tensor, "batch capsules dim"]) -> Float[Tensor, "batch capsules dim"]:
        """The poses with a relaxed mask, drawn from torch's global generator."""
        if not self.training:
            return poses
        dropped = relaxed_mask(self.logit, torch.rand(poses.shape[:2]).to(poses.device), self.config)
        share = (1 - dropped) / torch.sigmoid(-self.logit)
        return poses * share.unsqueeze(2).to(poses.dtype)

    def penalty(self, weight: Float[Tensor, "units reading"]) -> Float[Tensor, ""]:
        """Σ over capsules c of λ_w Σ w² / (1 − p_c) − λ_H H(p_c): Gal et al. 2017, Eq. 3 and 4.

        weight: that of the layer that reads the concatenated poses of all capsules. H(p) = −p log p −
        (1 − p) log(1 − p), in nats. With `compat` "paper" its term is + λ_H H(p_c), Equation 3 as printed.
        """
        squares = weight.square().sum(dim=0).view(len(self.logit), -1).sum(dim=1)
        entropy = binary_entropy(self.logit)
        sign = 1.0 if self.config.compat == "paper" else -1.0
        by_weight = self.config.weight_penalty * squares / torch.sigmoid(-self.logit)
        return (by_weight + sign * self.config.entropy_penalty * entropy).sum()


def relaxed_mask(
    logit: Float[Tensor, " capsules"], uniform: Float[Tensor, "batch capsules"], config: ConcreteDropout
) -> Float[Tensor, "batch capsules"]:
    """z̃, see `CapsuleDropout`; values of u of exactly 0 or 1 are clamped into the open interval."""
    noise = uniform.clamp(1e-7, 1 - 1e-7).logit()
    if config.compat == "paper":
        return (logit / config.temperature + noise).sigmoid()
    return ((logit + noise) / config.temperature).sigmoid()


def binary_entropy(logit: Float[Tensor, " capsules"]) -> Float[Tensor, " capsules"]:
    """H(p) in nats of p = σ(logit), finite for every logit: p softplus(−l) + (1 − p) softplus(l)."""
    rate = logit.sigmoid()
    return rate * softplus(-logit) + (1 - rate) * softplus(logit)


FIRST_STRIDE = 3


class CapsuleFaces(nn.Module):
    """Convolution 9 × 9 with stride 3, batch norm, ReLU → primary capsules → face capsules (SCN, section 4).

    For greyscale images of 100 × 100 the convolution has 20,992 parameters; the 12 · 12 · 32 = 4,608 primary capsules
    of dimension 8 have 5,308,672; the routing to 10 face capsules of dimension 16 has 5,898,240. The sizes follow from
    that of the images.
    """

    def __init__(self, config: CapsuleTower, channels: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, config.channels, KERNEL, FIRST_STRIDE)
        self.norm = ChannelBatchNorm(config.channels)
        self.primary = ConvolutionalCapsules(
            config.channels, config.primary_types, config.primary_dim, config.nonlinearity
        )
        self.faces = RoutedCapsules(
            primary_capsules(config, grid),
            config.primary_dim,
            config.num_face_capsules,
            config.face_dim,
            config.iterations,
            config.nonlinearity,
            config.couplings,
        )
        self.dropout = nn.Dropout(config.dropout.rate)
        self.concrete = (
            CapsuleDropout(config.num_face_capsules, config.dropout)
            if isinstance(config.dropout, ConcreteDropout)
            else None
        )
        self.dim = config.num_face_capsules * config.face_dim

    def forward(self, images: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch dim"]:
        """The concatenated poses of all face capsules."""
        maps = images.contiguous(memory_format=torch.channels_last)
        maps = self.dropout(torch.relu(self.norm(self.convolution(maps))))
        poses = self.faces(self.dropout(self.primary(maps)))
        return (self.dropout(poses) if self.concrete is None else self.concrete(poses)).flatten(1)


def primary_capsules(config: CapsuleTower, grid: tuple[int, int]) -> int:
    """The number of primary capsules of an image of `grid` rows and columns; ValueError for one that is too small."""
    places = [_after(_after(side, FIRST_STRIDE), STRIDE) for side in grid]
    if min(places) < 1:
        raise ValueError(
            f"images of {grid[0]} × {grid[1]} are too small for the capsule tower; it takes 33 × 33 or more"
        )
    return config.primary_types * places[0] * places[1]


def _after(side: int, stride: int) -> int:
    return (side - KERNEL) // stride + 1 if side >= KERNEL else 0
