"""ResNet-34 for images of any size."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.channel_batch_norm import ChannelBatchNorm

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Channels, blocks, and the stride of the first of them."""


class ResNet34(nn.Module):
    """A 7 × 7 convolution, stages of 3, 4, 6 and 3 residual blocks, and global average pooling (He et al. 2016)."""

    dim = STAGES[-1][0]

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

    def forward(self, images: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch dim"]:
        """The pooled features of the last stage."""
        features: Tensor = self.layers(images.contiguous(memory_format=torch.channels_last))
        return features


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
