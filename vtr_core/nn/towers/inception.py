"""InceptionV3's stem and first six modules, for images of any size."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.channel_batch_norm import ChannelBatchNorm

Maps = Float[Tensor, "batch channels rows columns"]


class InceptionV3(nn.Module):
    """A stem of five convolutions, six inception modules, global average pooling (Szegedy et al. 2016, Table 1).

    The baseline of Siamese Capsule Networks has six modules, without saying which. Here they are the first six: three
    of 3 × 3 convolutions with 256, 288 and 288 channels, the reduction to 768, and two of factorised 7 × 7 ones. All
    convolutions are padded, also those of the stem, so that feature maps of small images do not shrink to nothing.
    """

    dim = 768

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

    def forward(self, images: Maps) -> Float[Tensor, "batch dim"]:
        """The pooled features of the last module."""
        features: Tensor = self.layers(images.contiguous(memory_format=torch.channels_last))
        return features


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
