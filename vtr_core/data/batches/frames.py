"""A batch of videos with one caption each as tensors: frames with mask, mean of all frames, caption tokens."""

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
    """Rows of video and caption: one row for each sampled caption of each video.

    Every dictionary has all features of the batch; `mean` has none where the batch was read without means. Frames are
    float16 as stored; models cast them to their dtype. They are padded with zeros to the longest row of this batch, or
    of this worker's part of it, so the length differs between batches; it is at least 1. For a feature that a video
    lacks, frames and mean are zeros and the mask is false. Token 0 is padding; a row without a caption has no tokens,
    and caption key 0.
    """

    frames: dict[str, Float[Tensor, "batch _ _"]]
    """Frames by feature, (batch, frames, dim) float16: the first max_frames frames of each video."""
    mask: dict[str, Bool[Tensor, "batch _"]]
    """True at the positions of frames, which are contiguous from position 0."""
    mean: dict[str, Float[Tensor, "batch _"]]
    """(batch, dim) float32: the mean of *all* frames of the video, also beyond max_frames."""
    present: dict[str, Bool[Tensor, " batch"]]
    """Whether the video has at least one frame of the feature."""


def frame_batch(columns: Mapping[str, np.ndarray], features: Sequence[str]) -> FrameBatch:
    """A batch from the columns of a `videos` data set, as delivered by the training stream, with the given features.

    columns: for every feature float16 (rows, frames, dim), int64 `<name>.kept` (rows,) and possibly float32
    `<name>.mean` (rows, dim); `tokens` int32 (rows, max_words); `clip_key`, `video_key`, `caption_key` int64 (rows,).
    Features and keys share the arrays' memory, which may be read-only (as Ray's): they must not be modified.
    """
    kept = {name: shared_tensor(columns[kept_column(name)]) for name in features}
    return FrameBatch(
        frames={name: shared_tensor(columns[name]) for name in features},
        mask={name: torch.arange(columns[name].shape[1]) < kept[name][:, None] for name in features},
        mean={name: shared_tensor(columns[mean_column(name)]) for name in features if mean_column(name) in columns},
        present={name: kept[name] > 0 for name in features},
        tokens=shared_tensor(columns["tokens"].astype(np.int64)),
        clip_key=shared_tensor(columns["clip_key"]),
        video_key=shared_tensor(columns["video_key"]),
        caption_key=shared_tensor(columns["caption_key"]),
    )
