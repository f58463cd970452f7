"""The capsule tower: a convolution, primary capsules, and face capsules by routing."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.config.blocks.towers import CapsuleTower, ConcreteDropout
from vtr_core.nn.capsules.convolutional import KERNEL, STRIDE, ConvolutionalCapsules, RoutedCapsules
from vtr_core.nn.channel_batch_norm import ChannelBatchNorm
from vtr_core.nn.fan_in import fan_in_convolution_2d
from vtr_core.nn.towers.concrete_dropout import CapsuleDropout

FIRST_STRIDE = 3


class CapsuleFaces(nn.Module):
    """Convolution 9 × 9 with stride 3, batch norm, ReLU → primary capsules → face capsules (SCN, section 4).

    For greyscale images of 100 × 100 the convolution has 20,992 parameters; the 12 · 12 · 32 = 4,608 primary capsules
    of dimension 8 have 5,308,672; the routing to 10 face capsules of dimension 16 has 5,898,240. The sizes follow from
    that of the images.
    """

    def __init__(self, config: CapsuleTower, channels: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.convolution = fan_in_convolution_2d(channels, config.channels, KERNEL, FIRST_STRIDE)
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
    """The side length of a convolution's output."""
    return (side - KERNEL) // stride + 1 if side >= KERNEL else 0
