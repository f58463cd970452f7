"""A frame's grid of patches at several scales."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import adaptive_max_pool2d

from vtr_core.errors import ConfigError

CLS = 1
"""The scale of a frame's single [CLS] token, for which no grid is computed."""


class Pyramid(nn.Module):
    """A feature pyramid: the g × g grid of patches resampled to s × s tokens, for every scale s but that of [CLS].

    Scales are in ascending order.
    s < g     the maxima of s × s regions of about equal size (adaptive max-pooling)
    s = g     the grid itself
    s = 2 g   a transposed convolution from each patch to 2 × 2 tokens of half the channels
    s = 4 g   two of them, to a quarter of the channels, with LayerNorm and GELU between
    Each is followed by a 1 × 1 convolution to `dim` → LayerNorm → GELU → a 3 × 3 convolution → LayerNorm, where a
    LayerNorm is over channels. Sources: Tang et al. 2025, section 3.2; Li et al. 2022 ("Exploring plain vision
    transformer backbones", section 3), whose simple feature pyramid it extends, which also halves the channels where
    it upsamples. Raises ConfigError for other scales.
    """

    def __init__(self, dim: int, grid: int, scales: Sequence[int]) -> None:
        super().__init__()
        self._grid = grid
        wanted = sorted(scale for scale in scales if scale != CLS)
        self.scales = nn.ModuleDict({str(scale): _scale(dim, grid, scale) for scale in wanted})

    def forward(self, patches: Float[Tensor, "frames patches dim"]) -> list[Float[Tensor, "frames _ dim"]]:
        """The tokens of each scale, in row-major order of the grid like the patches."""
        grid = patches.unflatten(1, (self._grid, self._grid)).permute(0, 3, 1, 2)
        return [scale(grid).permute(0, 2, 3, 1).flatten(1, 2) for scale in self.scales.values()]


def grids_of_videos(
    pyramid: Pyramid, patches: Float[Tensor, "rows frames patches dim"], mask: Bool[Tensor, "rows frames"]
) -> list[Float[Tensor, "rows frames _ dim"]]:
    """The tokens of each scale of all frames; those that `mask` leaves out have patches of 0."""
    known = torch.where(mask[:, :, None, None], patches, 0)
    return [tokens.unflatten(0, mask.shape) for tokens in pyramid(known.flatten(0, 1))]


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels at every position of (frames, channels, positions…)."""

    def forward(self, values: Float[Tensor, "frames channels ..."]) -> Float[Tensor, "frames channels ..."]:
        """The normalised values."""
        return super().forward(values.movedim(1, -1)).movedim(-1, 1)


class _MaxPool(nn.Module):
    def __init__(self, scale: int) -> None:
        super().__init__()
        self._scale = scale

    def forward(self, grid: Float[Tensor, "frames dim rows columns"]) -> Float[Tensor, "frames dim scale scale"]:
        return adaptive_max_pool2d(grid, self._scale)


def _scale(dim: int, grid: int, scale: int) -> nn.Sequential:
    resample, channels = _resampled(dim, grid, scale)
    return nn.Sequential(
        *resample,
        nn.Conv2d(channels, dim, kernel_size=1),
        ChannelNorm(dim),
        nn.GELU(),
        nn.Conv2d(dim, dim, kernel_size=3, padding=1),
        ChannelNorm(dim),
    )


def _resampled(dim: int, grid: int, scale: int) -> tuple[list[nn.Module], int]:
    """The layers that resample the grid to a scale, and their number of output channels."""
    half, quarter = max(1, dim // 2), max(1, dim // 4)
    if scale < grid:
        return [_MaxPool(scale)], dim
    if scale == grid:
        return [], dim
    if scale == 2 * grid:
        return [_doubled(dim, half)], half
    if scale == 4 * grid:
        return [_doubled(dim, half), ChannelNorm(half), nn.GELU(), _doubled(half, quarter)], quarter
    raise ConfigError(
        f"scale {scale} cannot be made of a {grid} × {grid} grid; 1, …, {grid}, {2 * grid} and {4 * grid} can"
    )


def _doubled(dim: int, out_dim: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(dim, out_dim, kernel_size=2, stride=2)
