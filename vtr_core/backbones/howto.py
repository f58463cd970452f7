"""HowTo100M's networks of frames and motion: ResNet-152 and 3D ResNeXt-101, as published."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor, nn

from vtr_core.backbones.inputs import IMAGENET, Normalization, PictureExtractor, to_floats
from vtr_core.backbones.weights import load_state, read_state


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
    if dimensions == 3:
        return nn.Conv3d, nn.BatchNorm3d, nn.MaxPool3d
    return nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d


WINDOW = 16
"""Frames in a window of the 3D network."""
KINETICS_MEAN = Normalization((110.6, 103.2, 96.3), (1.0, 1.0, 1.0), divisor=1.0)
_WINDOWS_AT_ONCE = 4


def load_2d(weights: str | None, device: str) -> PictureExtractor:
    """The extractor from (frames, 224, 224, 3) to (frames, 2048)."""
    return PictureExtractor(network(RESNET_152, weights).to(device), IMAGENET, device)


def load_3d(weights: str | None, device: str) -> "WindowExtractor":
    """The extractor from (frames, 112, 112, 3) to (windows, 2048)."""
    return WindowExtractor(network(RESNEXT_101_3D, weights).to(device), device)


def load_side_by_side(weights: str | None, device: str) -> PictureExtractor:
    """The extractor from (frames, 224, 224, 3) to (frames, 4096); the weights file has `resnext.…` and `resnet.…`."""
    both = SideBySide()
    if weights is not None:
        state = read_state(weights)
        for name, part in both.named_children():
            below = {key.removeprefix(f"{name}."): state[key] for key in state if key.startswith(f"{name}.")}
            load_state(part, below, f"{weights}, {name}")
    return PictureExtractor(both.eval().to(device), IMAGENET, device)


def network(shape: ResNetShape, weights: str | None) -> ResNet:
    """The network in evaluation mode; with random weights where none are given."""
    made = ResNet(shape)
    if weights is not None:
        load_state(made, read_state(weights), weights)
    return made.eval()


class SideBySide(nn.Module):
    """Concatenated features of ResNeXt-101 and ResNet-152."""

    def __init__(self) -> None:
        super().__init__()
        self.resnext = ResNet(RESNEXT_101_32X4D)
        self.resnet = ResNet(RESNET_152)

    def forward(self, pictures: Float[Tensor, "frames 3 height width"]) -> Float[Tensor, "frames dim"]:
        """The features, (frames, 4096)."""
        return torch.cat([self.resnext(pictures), self.resnet(pictures)], dim=1)


@dataclass(frozen=True)
class WindowExtractor:
    """One row per 16 frames; the last window is padded with black frames, as in the published extractor."""

    network: nn.Module
    device: str

    def __call__(self, values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The rows of consecutive windows without overlap."""
        missing = -len(values) % WINDOW
        full = np.concatenate([values, np.zeros((missing, *values.shape[1:]), np.uint8)])
        windows = torch.from_numpy(full.reshape(-1, WINDOW, *values.shape[1:]))
        with torch.inference_mode():
            rows = [self._seen(part) for part in windows.split(_WINDOWS_AT_ONCE)]
        return torch.cat(rows).float().cpu().numpy()

    def _seen(self, windows: UInt8[Tensor, "windows frames height width 3"]) -> Float[Tensor, "windows dim"]:
        frames = to_floats(windows.flatten(0, 1).numpy(), KINETICS_MEAN, self.device)
        features: Tensor = self.network(frames.unflatten(0, windows.shape[:2]).transpose(1, 2))
        return features
