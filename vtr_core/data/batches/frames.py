"""A batch of videos with a caption each as tensors: frames with their mask, the mean of all frames, caption tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.data.batches.rows import CaptionedBatch, shared_tensor
from vtr_core.data.records.frames import kept_column, mean_column


@dataclass(frozen=True, kw_only=True)
class FrameBatch(CaptionedBatch):
    """Rows of video and caption: of every video of the batch one row for each caption that was sampled of it.

    Every dictionary has all features of the batch. Frames are float16 as stored; a model casts them to what it computes
    in. Frames are padded with zeros to the longest row of this batch, or of this worker's part of it, so the length
    differs from batch to batch; it is at least 1. Of a feature that a video does not have, frames and mean are zeros
    and the mask is false throughout. Token 0 is padding; a row without a caption has no tokens, and caption key 0.
    """

    frames: dict[str, Float[Tensor, "batch _ _"]]
    """By feature, (batch, frames, dim) float16: the first max_frames frames of each video."""
    mask: dict[str, Bool[Tensor, "batch _"]]
    """Whether there is a frame: true from position 0 on, then false."""
    mean: dict[str, Float[Tensor, "batch _"]]
    """(batch, dim) float32: the mean of *all* frames of the video, also of those beyond max_frames."""
    present: dict[str, Bool[Tensor, " batch"]]
    """Whether the video has the feature, that is, at least one frame of it."""


def frame_batch(columns: Mapping[str, np.ndarray], features: Sequence[str]) -> FrameBatch:
    """The batch of the columns of a `videos` data set, as the training stream delivers them, with the features named.

    columns: of every feature float16 (rows, frames, dim), int64 `<name>.kept` (rows,) and float32 `<name>.mean` (rows,
    dim); `tokens` int32 (rows, max_words); `clip_key`, `video_key`, `caption_key` int64 (rows,). Features and keys
    share the arrays' memory, which may be read-only (Ray's is): nothing may write into them.
    """
    kept = {name: shared_tensor(columns[kept_column(name)]) for name in features}
    return FrameBatch(
        frames={name: shared_tensor(columns[name]) for name in features},
        mask={name: torch.arange(columns[name].shape[1]) < kept[name][:, None] for name in features},
        mean={name: shared_tensor(columns[mean_column(name)]) for name in features},
        present={name: kept[name] > 0 for name in features},
        tokens=shared_tensor(columns["tokens"].astype(np.int64)),
        clip_key=shared_tensor(columns["clip_key"]),
        video_key=shared_tensor(columns["video_key"]),
        caption_key=shared_tensor(columns["caption_key"]),
    )
