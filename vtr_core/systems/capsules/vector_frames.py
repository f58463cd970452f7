"""MUSE's block over the frames that a clip's feature vector consists of."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.config.blocks.frame_block import VectorFrameBlock
from vtr_core.errors import ConfigError
from vtr_core.nn.mamba.muse_block import build_frame_block


class VectorFrames(nn.Module):
    """A vector of `frames` equal parts, each of which is a frame to the block; ConfigError where it has other parts."""

    def __init__(self, dim: int, config: VectorFrameBlock) -> None:
        super().__init__()
        if dim % config.frames:
            raise ConfigError(
                f"model.frame_block.frames = {config.frames}: the {dim} values of the feature {config.feature!r} are "
                f"not as many equal parts; give the number of frames that the vectors were made of"
            )
        self._frames = config.frames
        self.block = build_frame_block(dim // config.frames, config)

    def forward(self, vectors: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch dim"]:
        """The changed vectors; a vector of zeros, which is absent, stays exactly zero."""
        frames = vectors.unflatten(1, (self._frames, -1))
        mask = torch.ones(frames.shape[:2], dtype=torch.bool, device=frames.device)
        return self.block(frames, None, mask).flatten(1)
