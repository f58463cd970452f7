"""A batch of clips with a caption each as tensors: pictures with their mask, caption tokens."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, UInt8
from torch import Tensor

from vtr_core.data.batches.rows import CaptionedBatch, shared_tensor
from vtr_core.data.records.frames import kept_column
from vtr_core.data.records.schema import FRAMES


@dataclass(frozen=True, kw_only=True)
class PictureBatch(CaptionedBatch):
    """Rows of clip and caption, with the clip's pictures as bytes, RGB; a model scales and normalises them.

    They are padded with zeros to the longest row of this batch, or of this worker's part of it. In memory a picture's
    colours lie together (channels last), as convolutions have them fastest.
    """

    frames: UInt8[Tensor, "batch frames 3 height width"]
    mask: Bool[Tensor, "batch frames"]
    """Whether there is a frame: true from position 0 on, then false."""


def picture_batch(columns: Mapping[str, np.ndarray], height: int, width: int) -> PictureBatch:
    """The batch of the columns of a `frames` data set, as the training stream delivers them.

    columns: uint8 `frames` (rows, frames, height · width · 3), int64 `frames.kept` (rows,), `tokens` int32 (rows,
    max_words), `clip_key`, `video_key`, `caption_key` int64 (rows,). Frames and keys share the arrays' memory,
    read-only where that is, as Ray's is: nothing may write into them.
    """
    pixels, kept = shared_tensor(columns[FRAMES]), shared_tensor(columns[kept_column(FRAMES)])
    rows, frames = pixels.shape[:2]
    return PictureBatch(
        frames=pixels.view(rows, frames, height, width, 3).permute(0, 1, 4, 2, 3),
        mask=torch.arange(frames) < kept[:, None],
        tokens=shared_tensor(columns["tokens"].astype(np.int64)),
        clip_key=shared_tensor(columns["clip_key"]),
        video_key=shared_tensor(columns["video_key"]),
        caption_key=shared_tensor(columns["caption_key"]),
    )
