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
    """Max-pooling over windows of `width` frames, then the layers of a spatial scale with convolutions over time.

    The windows do not overlap, and the last may be shorter. The layers are a 1-wide convolution → LayerNorm → GELU → a
    3-wide convolution → LayerNorm. A window without valid frames gives no token; masked-out frames influence none.
    """

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self._width = width
        self.expand = nn.Sequential(nn.Conv1d(dim, dim, kernel_size=1), ChannelNorm(dim), nn.GELU())
        self.mix = nn.Sequential(nn.Conv1d(dim, dim, kernel_size=3, padding=1), ChannelNorm(dim))

    def forward(self, frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]) -> TemporalTokens:
        """The window tokens of each row, whose valid frames come before its padding."""
        missing = -frames.shape[1] % self._width
        there = pad(mask, (0, missing)).unflatten(1, (-1, self._width))
        values = pad(frames, (0, 0, 0, missing)).unflatten(1, (-1, self._width))
        windows = there.any(dim=2)
        highest = values.masked_fill(~there.unsqueeze(3), -torch.inf).amax(dim=2)
        kept = windows.unsqueeze(1)
        expanded = self.expand(torch.where(kept, highest.transpose(1, 2), 0))
        return TemporalTokens(self.mix(torch.where(kept, expanded, 0)).transpose(1, 2), windows)
