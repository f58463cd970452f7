"""Bottleneck residual networks in two and three dimensions, with the parameter names of published checkpoints.

ResNet-152 (He et al. 2016), ResNeXt-101 (Xie et al. 2017) and the 3D ResNeXt-101 of Hara et al. 2018 differ in the
dimension of their convolutions, in groups, and in widths; the output is the last layer averaged over all positions.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn


@dataclass(frozen=True)
class ResNetShape:
    """The hyperparameters in which these networks differ."""

    blocks: tuple[int, int, int, int]
    """Bottleneck blocks of each stage."""
    dimensions: Literal[2, 3] = 2
    groups: int = 1
    inner: tuple[int, int, int, int] = (64, 128, 256, 512)
    """Channels of the middle convolution in each stage."""
    outer: tuple[int, int, int, int] = (256, 512, 1024, 2048)
    """Channels between bottlenecks in each stage."""


RESNET_152 = ResNetShape((3, 8, 36, 3))
RESNEXT_101_32X4D = ResNetShape((3, 4, 23, 3), groups=32, inner=(128, 256, 512, 1024))
RESNEXT_101_3D = ResNetShape((3, 4, 23, 3), dimensions=3, groups=32, inner=(128, 256, 512, 1024))


class ResNet(nn.Module):
    """The network without its classifier."""

    def __init__(self, shape: ResNetShape) -> None:
        super().__init__()
        convolution, norm, pool = _layers(shape.dimensions)
        # The first convolution of the 3D network has stride 1 in time; pooling reduces time and space alike.
        first = (1, 2, 2) if shape.dimensions == 3 else 2
        self.conv1 = convolution(3, 64, 7, first, 3, bias=False)
        self.bn1 = norm(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = pool(3, 2, 1)
        before = (64, *shape.outer[:3])
        stages = [_stage(shape, stage, before[stage]) for stage in range(4)]
        self.layer1, self.layer2, self.layer3, self.layer4 = stages

    def forward(self, pictures: Float[Tensor, "windows 3 *places"]) -> Float[Tensor, "windows dim"]:
        """The features, (windows, 2048)."""
        maps = self.maxpool(self.relu(self.bn1(self.conv1(pictures))))
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        return torch.flatten(maps, 2).mean(dim=2)


class Bottleneck(nn.Module):
    """Residual block of convolutions 1 × 1, 3 × 3 (grouped) and 1 × 1."""

    def __init__(self, shape: ResNetShape, stage: int, before: int, stride: int) -> None:
        super().__init__()
        convolution, norm, _ = _layers(shape.dimensions)
        inner, outer = shape.inner[stage], shape.outer[stage]
        self.conv1 = convolution(before, inner, 1, bias=False)
        self.bn1 = norm(inner)
        self.conv2 = convolution(inner, inner, 3, stride, 1, groups=shape.groups, bias=False)
        self.bn2 = norm(inner)
        self.conv3 = convolution(inner, outer, 1, bias=False)
        self.bn3 = norm(outer)
        self.relu = nn.ReLU(inplace=True)
        changes = stride != 1 or before != outer
        shortcut = nn.Sequential(convolution(before, outer, 1, stride, bias=False), norm(outer))
        self.downsample = shortcut if changes else None

    def forward(self, maps: Float[Tensor, "windows _ *places"]) -> Float[Tensor, "windows channels *smaller"]:
        """The output of the block."""
        shortcut = maps if self.downsample is None else self.downsample(maps)
        maps = self.relu(self.bn1(self.conv1(maps)))
        maps = self.relu(self.bn2(self.conv2(maps)))
        return self.relu(self.bn3(self.conv3(maps)) + shortcut)


def _stage(shape: ResNetShape, stage: int, before: int) -> nn.Sequential:
    first = Bottleneck(shape, stage, before, stride=1 if stage == 0 else 2)
    rest = [Bottleneck(shape, stage, shape.outer[stage], stride=1) for _ in range(shape.blocks[stage] - 1)]
    return nn.Sequential(first, *rest)


def _layers(dimensions: int) -> tuple[type[nn.Module], type[nn.Module], type[nn.Module]]:
    """Convolution, batch normalisation and maximum pooling."""
    if dimensions == 3:
        return nn.Conv3d, nn.BatchNorm3d, nn.MaxPool3d
    return nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d
