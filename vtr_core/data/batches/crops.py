"""Batches of frames at a model's size: the centre of stored frames, or in training a random place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vtr_core.data.batches.pictures import PictureBatch, picture_batch

_POSITIVE = 2**63 - 1


@dataclass(frozen=True)
class Crops:
    """Squares of `size` pixels from frames of `stored` pixels: their centre, or a random place."""

    stored: int
    size: int
    random: bool
    seed: int

    def batch(self, columns: Mapping[str, np.ndarray]) -> PictureBatch:
        """A batch of the training stream, cut to size.

        The place of a random crop is a function of the seed, the step, and the row's clip and caption: the same on any
        number of workers, and for all frames of a clip.
        """
        batch = picture_batch(columns, self.stored, self.stored)
        if not self.random:
            return replace(batch, frames=centre(batch.frames, self.size))
        room, step = self.stored - self.size + 1, int(columns["step"][0])
        keys = zip(columns["clip_key"].tolist(), columns["caption_key"].tolist(), strict=True)
        places = [
            np.random.default_rng([self.seed, step, clip & _POSITIVE, caption & _POSITIVE]).integers(room, size=2)
            for clip, caption in keys
        ]
        cut = [
            clip[..., top : top + self.size, left : left + self.size]
            for clip, (top, left) in zip(batch.frames, places, strict=True)
        ]
        return replace(batch, frames=torch.stack(cut))


def centre(frames: UInt8[Tensor, "*places height width"], size: int) -> UInt8[Tensor, "*places size size"]:
    """The middle of every picture."""
    top, left = (frames.shape[-2] - size) // 2, (frames.shape[-1] - size) // 2
    return frames[..., top : top + size, left : left + size]
