"""Batches of frames at CLIP's size: the centre of stored frames, or in training a random place."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vtr_core.data.batches.pictures import PictureBatch, picture_batch
from vtr_core.data.reading.row_groups import Columns
from vtr_core.systems.clip4clip.config import Clip4ClipConfig

_POSITIVE = 2**63 - 1


def training_batch(columns: Columns, config: Clip4ClipConfig, seed: int) -> PictureBatch:
    """A batch of the training stream, cut to size.

    The place of a random crop is a function of the seed, the step, and the row's clip and caption: the same on any
    number of workers.
    """
    batch = picture_batch(columns, config.stored_size, config.stored_size)
    size = config.backbone.image_size
    if not config.random_crop:
        return replace(batch, frames=centre(batch.frames, size))
    room, step = config.stored_size - size + 1, int(columns["step"][0])
    keys = zip(columns["clip_key"].tolist(), columns["caption_key"].tolist(), strict=True)
    places = [
        np.random.default_rng([seed, step, clip & _POSITIVE, caption & _POSITIVE]).integers(room, size=2)
        for clip, caption in keys
    ]
    cut = [
        clip[..., top : top + size, left : left + size] for clip, (top, left) in zip(batch.frames, places, strict=True)
    ]
    return replace(batch, frames=torch.stack(cut))


def centre(frames: UInt8[Tensor, "*places height width"], size: int) -> UInt8[Tensor, "*places size size"]:
    """The middle of every picture."""
    top, left = (frames.shape[-2] - size) // 2, (frames.shape[-1] - size) // 2
    return frames[..., top : top + size, left : left + size]
