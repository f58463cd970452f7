"""Clips as Video Swin sees them: of a fixed number of frames, normalised."""

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the channels red, green and blue of ImageNet's pictures, for values from 0 to 1."""


def stretched(
    frames: UInt8[Tensor, "clips frames 3 height width"], mask: Bool[Tensor, "clips frames"], length: int
) -> UInt8[Tensor, "clips {length} 3 height width"]:
    """Every clip as `length` frames: frame i is frame ⌊i · n / length⌋ of the clip's n, which are its first ones.

    What follows a clip's last frame is not read; a clip without frames is black.
    """
    kept = mask.sum(dim=1, keepdim=True)
    place = torch.arange(length, device=frames.device) * kept // length
    taken = frames[torch.arange(len(frames), device=frames.device).unsqueeze(1), place]
    return torch.where((kept > 0).view(-1, 1, 1, 1, 1), taken, 0)


def normalized(
    frames: UInt8[Tensor, "clips frames 3 height width"], dtype: torch.dtype
) -> Float[Tensor, "clips 3 frames height width"]:
    """Pixels of mean 0 and deviation 1 by channel, channels first."""
    mean, deviation = (torch.tensor(three, dtype=dtype, device=frames.device) for three in (MEAN, DEVIATION))
    return ((frames.to(dtype) / 255).movedim(2, 4) - mean).div(deviation).permute(0, 4, 1, 2, 3)
