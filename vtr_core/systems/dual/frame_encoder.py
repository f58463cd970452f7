"""Multi-level video encoder: mean pooling, biGRU, convolutions."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.nn.encoders.temporal_levels import TemporalLevels
from vtr_core.systems.dual.config import HybridEncoderConfig


class FrameEncoder(nn.Module):
    """φ(v) = [mean of all frames; mean of biGRU outputs; strongest local patterns] (thesis, Eq. 3.1 to 3.5)."""

    def __init__(self, frame_dim: int, config: HybridEncoderConfig) -> None:
        super().__init__()
        published = config.compat == "hybrid_space"
        self.levels = TemporalLevels(frame_dim, config.video, config.dropout, published, published)
        self.out_dim = frame_dim + self.levels.out_dim

    def forward(
        self,
        frames: Float[Tensor, "rows frames frame_dim"],
        mask: Bool[Tensor, "rows frames"],
        mean: Float[Tensor, "rows frame_dim"],
    ) -> Float[Tensor, "rows out_dim"]:
        """The vector of each video; 0 for a video without frames.

        mean: of all frames of a video, including those beyond `frames`. Both in any precision.
        """
        dtype = next(self.parameters()).dtype
        present = mask.any(dim=1, keepdim=True)
        return torch.cat([torch.where(present, mean.to(dtype), 0), self.levels(frames.to(dtype), mask)], dim=1)
