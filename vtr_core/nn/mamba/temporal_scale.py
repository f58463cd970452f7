"""Temporal down-sampling of a sequence of frames."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from vtr_core.nn.mamba.pyramid import ChannelNorm


@dataclass(frozen=True)
class TemporalTokens:
    """Tokens of windows of frames."""

    tokens: Float[Tensor, "rows windows dim"]
    mask: Bool[Tensor, "rows windows"]
    """Which of them there are."""


class TemporalScale(nn.Module):
    """The maxima of `width` frames after another, then the layers of a spatial scale with convolutions over time:

    1-wide convolution → LayerNorm → GELU → 3-wide convolution → LayerNorm. The last window may be shorter. A window
    without frames gives no token, and frames that are not there change none.
    """

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self._width = width
        self.expand = nn.Sequential(nn.Conv1d(dim, dim, kernel_size=1), ChannelNorm(dim), nn.GELU())
        self.mix = nn.Sequential(nn.Conv1d(dim, dim, kernel_size=3, padding=1), ChannelNorm(dim))

    def forward(self, frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]) -> TemporalTokens:
        """The tokens of each row, whose frames come first."""
        missing = -frames.shape[1] % self._width
        there = pad(mask, (0, missing)).unflatten(1, (-1, self._width))
        values = pad(frames, (0, 0, 0, missing)).unflatten(1, (-1, self._width))
        windows = there.any(dim=2)
        highest = values.masked_fill(~there.unsqueeze(3), -torch.inf).amax(dim=2)
        kept = windows.unsqueeze(1)
        expanded = self.expand(torch.where(kept, highest.transpose(1, 2), 0))
        return TemporalTokens(self.mix(torch.where(kept, expanded, 0)).transpose(1, 2), windows)
