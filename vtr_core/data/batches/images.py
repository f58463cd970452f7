"""A batch of images as tensors, with keys of images and subjects."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt8
from torch import Tensor

from vtr_core.data.batches.rows import TensorBatch, shared_tensor


@dataclass(frozen=True)
class ImageBatch(TensorBatch):
    """Images, uint8, grey or RGB; keys are 64-bit hashes of the ids of image and subject."""

    pixels: UInt8[Tensor, "batch channels height width"]
    image_key: Int64[Tensor, " batch"]
    subject_key: Int64[Tensor, " batch"]

    @property
    def rows(self) -> int:
        """The number of images."""
        return len(self.pixels)


def image_batch(columns: Mapping[str, np.ndarray], shape: tuple[int, int, int]) -> ImageBatch:
    """A batch from the columns of an `images` data set whose images have `shape` (height, width, channels).

    columns: uint8 `pixels` (rows, height · width · channels), int64 `clip_key` and `video_key` (rows,), the keys of
    image and subject. Pixels may share the arrays' memory, which may be read-only (as Ray's): they must not be
    modified.
    """
    height, width, channels = shape
    pixels = shared_tensor(columns["pixels"]).view(-1, height, width, channels).permute(0, 3, 1, 2).contiguous()
    return ImageBatch(pixels, shared_tensor(columns["clip_key"]).clone(), shared_tensor(columns["video_key"]).clone())
