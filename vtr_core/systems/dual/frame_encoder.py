"""Multi-level video encoder: mean pooling, biGRU, convolutions."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.nn.encoders.temporal_levels import TemporalLevels
from vtr_core.nn.mamba.muse_block import build_frame_block
from vtr_core.systems.dual.config import HybridEncoderConfig


class FrameEncoder(nn.Module):
    """φ(v) = [mean of all frames; mean of biGRU outputs; strongest local patterns] (thesis, Eq. 3.1 to 3.5).

    With `frame_block` MUSE's block changes the frames first, and the mean by the mean change.
    """

    def __init__(self, frame_dim: int, config: HybridEncoderConfig) -> None:
        super().__init__()
        published = config.compat == "hybrid_space"
        self.levels = TemporalLevels(frame_dim, config.video, config.dropout, published, published)
        self.out_dim = frame_dim + self.levels.out_dim
        self.block = None if config.frame_block is None else build_frame_block(frame_dim, config.frame_block)

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
        frames, mean = frames.to(dtype), mean.to(dtype)
        if self.block is not None:
            changed = self.block(frames, None, mask)
            mean = mean + _mean(torch.where(mask.unsqueeze(2), changed - frames, 0), mask)
            frames = changed
        present = mask.any(dim=1, keepdim=True)
        return torch.cat([torch.where(present, mean, 0), self.levels(frames, mask)], dim=1)


def _mean(values: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]) -> Float[Tensor, "rows dim"]:
    return values.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
