"""A batch of clips with one caption each as tensors: frames as pixels with mask, caption tokens."""

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
    """Rows of clip and caption, with the clip's frames as uint8 RGB, which models scale and normalise.

    Frames are padded with zeros to the longest row of this batch, or of this worker's part of it. The memory format is
    channels last, in which convolutions are fastest.
    """

    frames: UInt8[Tensor, "batch frames 3 height width"]
    mask: Bool[Tensor, "batch frames"]
    """True at the positions of frames, which are contiguous from position 0."""


def picture_batch(columns: Mapping[str, np.ndarray], height: int, width: int) -> PictureBatch:
    """A batch from the columns of a `frames` data set, as delivered by the training stream.

    columns: uint8 `frames` (rows, frames, height · width · 3), int64 `frames.kept` (rows,), `tokens` int32 (rows,
    max_words), `clip_key`, `video_key`, `caption_key` int64 (rows,). Frames and keys share the arrays' memory, which
    may be read-only (as Ray's): they must not be modified.
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
