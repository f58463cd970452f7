"""Towers for images of any size: LeNet-5, AlexNet, ResNet-34, InceptionV3, and the configured one."""

from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.config.towers import AlexNetTower, CapsuleTower, InceptionTower, LeNetTower, ResNetTower, TowerConfig
from vtr_core.nn.capsules.capsule_tower import CapsuleFaces
from vtr_core.nn.normalization import ChannelBatchNorm

Maps = Float[Tensor, "batch channels rows columns"]
KERNEL = 5


class _Layers(nn.Module):
    """A sequence of layers from images to vectors of `dim` values; maps lie channels last in memory where asked for."""

    dim: int
    layers: nn.Sequential
    channels_last = False

    def forward(self, images: Maps) -> Float[Tensor, "batch dim"]:
        """The output of the last layer."""
        if self.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        features: Tensor = self.layers(images)
        return features


class LeNet(_Layers):
    """5 × 5 convolutions to 6 and 16 channels, each with ReLU and 2 × 2 max-pooling; linear layers of 120 and 84 units.

    LeCun et al. 1998, with ReLU instead of tanh and max- instead of average pooling, as it is used today.
    """

    dim = 84

    def __init__(self, channels: int, grid: tuple[int, int], dropout: float) -> None:
        super().__init__()
        places = [((side - KERNEL + 1) // 2 - KERNEL + 1) // 2 for side in grid]
        if min(places) < 1:
            raise ValueError(f"images of {grid[0]} × {grid[1]} are too small for LeNet; it takes 16 × 16 or more")
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 6, KERNEL),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, KERNEL),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(16 * places[0] * places[1], 120),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(120, self.dim),
            nn.ReLU(),
        )


POOLED = 6


class AlexNet(_Layers):
    """Five convolutions, three of them with max-pooling, adaptive average pooling to 6 × 6, and two linear layers.

    Krizhevsky et al. 2012, in the one-column version of Krizhevsky 2014. Greyscale images have one input channel.
    Raises ValueError for images that are too small for the pooling.
    """

    def __init__(self, channels: int, grid: tuple[int, int], hidden_dim: int, dropout: float) -> None:
        super().__init__()
        if min(grid) < 32:
            raise ValueError(f"images of {grid[0]} × {grid[1]} are too small for AlexNet; it takes 32 × 32 or more")
        self.dim = hidden_dim
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 64, 11, 4, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.AdaptiveAvgPool2d(POOLED),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(256 * POOLED * POOLED, hidden_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, hidden_dim),
            nn.ReLU(),
        )


STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Channels, blocks, and the stride of the first of them."""


class ResNet34(_Layers):
    """A 7 × 7 convolution, stages of 3, 4, 6 and 3 residual blocks, and global average pooling (He et al. 2016)."""

    dim = STAGES[-1][0]
    channels_last = True

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        width = STAGES[0][0]
        blocks = []
        for out, count, stride in STAGES:
            blocks += [Residual(width if i == 0 else out, out, stride if i == 0 else 1) for i in range(count)]
            width = out
        self.layers = nn.Sequential(
            nn.Conv2d(channels, STAGES[0][0], 7, 2, 3, bias=False),
            ChannelBatchNorm(STAGES[0][0]),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(dropout),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


class Residual(nn.Module):
    """x′ = ReLU(F(x) + S(x)): F two 3 × 3 convolutions with batch norm, S the identity, or 1 × 1 if shapes differ."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False),
            ChannelBatchNorm(out),
            nn.ReLU(),
            nn.Conv2d(out, out, 3, 1, 1, bias=False),
            ChannelBatchNorm(out),
        )
        changes = stride != 1 or channels != out
        projection = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), ChannelBatchNorm(out))
        self.shortcut = projection if changes else nn.Identity()

    def forward(self, maps: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch out _ _"]:
        """The block's maps."""
        return torch.relu(self.residual(maps) + self.shortcut(maps))


class InceptionV3(_Layers):
    """A stem of five convolutions, six inception modules, global average pooling (Szegedy et al. 2016, Table 1).

    The baseline of Siamese Capsule Networks has six modules, without saying which. Here they are the first six: three
    of 3 × 3 convolutions with 256, 288 and 288 channels, the reduction to 768, and two of factorised 7 × 7 ones. All
    convolutions are padded, also those of the stem, so that feature maps of small images do not shrink to nothing.
    """

    dim = 768
    channels_last = True

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(_convolution(channels, 32, 3, stride=2), _convolution(32, 32, 3), _convolution(32, 64, 3)),
            nn.MaxPool2d(3, 2, 1),
            *(_convolution(64, 80, 1), _convolution(80, 192, 3)),
            nn.MaxPool2d(3, 2, 1),
            *(_module_a(192, 32), _module_a(256, 64), _module_a(288, 64)),
            _reduction(288),
            *(_module_c(768, 128), _module_c(768, 160)),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(dropout),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")


class Branches(nn.Module):
    """The feature maps of several branches over one input, concatenated along the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, maps: Maps) -> Float[Tensor, "batch _ _ _"]:
        """All channels of all branches."""
        return torch.cat([branch(maps) for branch in self.branches], dim=1)


def _convolution(channels: int, out: int, kernel: int | tuple[int, int], stride: int = 1) -> nn.Sequential:
    rows, columns = (kernel, kernel) if isinstance(kernel, int) else kernel
    padding = rows // 2, columns // 2
    layer = nn.Conv2d(channels, out, (rows, columns), stride, padding, bias=False)
    return nn.Sequential(layer, ChannelBatchNorm(out, eps=1e-3), nn.ReLU())


def _pooled(channels: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), _convolution(channels, out, 1))


def _module_a(channels: int, pooled: int) -> Branches:
    """1 × 1, 5 × 5, two 3 × 3, and pooling (Figure 5 of the paper, with 5 × 5 kept as in the released network)."""
    return Branches(
        _convolution(channels, 64, 1),
        nn.Sequential(_convolution(channels, 48, 1), _convolution(48, 64, 5)),
        nn.Sequential(_convolution(channels, 64, 1), _convolution(64, 96, 3), _convolution(96, 96, 3)),
        _pooled(channels, pooled),
    )


def _reduction(channels: int) -> Branches:
    """Half as many rows and columns, by strided convolutions and max-pooling (Figure 10)."""
    double = (_convolution(channels, 64, 1), _convolution(64, 96, 3), _convolution(96, 96, 3, stride=2))
    return Branches(_convolution(channels, 384, 3, stride=2), nn.Sequential(*double), nn.MaxPool2d(3, 2, 1))


def _module_c(channels: int, width: int) -> Branches:
    """1 × 1, one and two 7 × 7 as 1 × 7 and 7 × 1, and pooling (Figure 6)."""
    return Branches(
        _convolution(channels, 192, 1),
        nn.Sequential(
            _convolution(channels, width, 1),
            _convolution(width, width, (1, 7)),
            _convolution(width, 192, (7, 1)),
        ),
        nn.Sequential(
            _convolution(channels, width, 1),
            _convolution(width, width, (7, 1)),
            _convolution(width, width, (1, 7)),
            _convolution(width, width, (7, 1)),
            _convolution(width, 192, (1, 7)),
        ),
        _pooled(channels, 192),
    )


Tower = CapsuleFaces | LeNet | AlexNet | ResNet34 | InceptionV3


def build_tower(config: TowerConfig, channels: int, grid: tuple[int, int]) -> Tower:
    """A module from images to features of its `dim`; ValueError for images that are too small for it."""
    match config:
        case CapsuleTower():
            return CapsuleFaces(config, channels, grid)
        case LeNetTower():
            return LeNet(channels, grid, config.dropout)
        case AlexNetTower():
            return AlexNet(channels, grid, config.hidden_dim, config.dropout)
        case ResNetTower():
            return ResNet34(channels, config.dropout)
        case InceptionTower():
            return InceptionV3(channels, config.dropout)
        case _:
            assert_never(config)
