"""A batch of videos with a caption each as tensors: frames with their mask, the mean of all frames, caption tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.data.batches.batch import RowKeys
from vtr_core.data.batches.shared import shared_tensor
from vtr_core.data.records.frames import kept_column, mean_column


@dataclass(frozen=True)
class FrameBatch:
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
    tokens: Int64[Tensor, "batch max_words"]
    clip_key: Int64[Tensor, " batch"]
    """The key of the video: a whole video is its only clip."""
    video_key: Int64[Tensor, " batch"]
    caption_key: Int64[Tensor, " batch"]

    @property
    def rows(self) -> int:
        """Rows in the batch."""
        return len(self.tokens)

    @property
    def text_present(self) -> Bool[Tensor, " batch"]:
        """Whether a row's caption has at least one word of the vocabulary."""
        return (self.tokens != 0).any(dim=1)

    @property
    def keys(self) -> RowKeys:
        """The keys of all rows."""
        return RowKeys(clip=self.clip_key, video=self.video_key, caption=self.caption_key)

    def split(self, rows: int) -> "list[FrameBatch]":
        """The batch in pieces of at most `rows` rows, in order; one piece, empty, of an empty batch."""
        return [self._rows(slice(first, first + rows)) for first in range(0, max(self.rows, 1), rows)]

    def _rows(self, kept: slice) -> "FrameBatch":
        return FrameBatch(
            frames={name: values[kept] for name, values in self.frames.items()},
            mask={name: values[kept] for name, values in self.mask.items()},
            mean={name: values[kept] for name, values in self.mean.items()},
            present={name: values[kept] for name, values in self.present.items()},
            tokens=self.tokens[kept],
            clip_key=self.clip_key[kept],
            video_key=self.video_key[kept],
            caption_key=self.caption_key[kept],
        )

    def to(self, device: torch.device | str) -> "FrameBatch":
        """The batch on `device`; without a copy where it is there already."""
        return FrameBatch(
            frames={name: values.to(device) for name, values in self.frames.items()},
            mask={name: values.to(device) for name, values in self.mask.items()},
            mean={name: values.to(device) for name, values in self.mean.items()},
            present={name: values.to(device) for name, values in self.present.items()},
            tokens=self.tokens.to(device),
            clip_key=self.clip_key.to(device),
            video_key=self.video_key.to(device),
            caption_key=self.caption_key.to(device),
        )


def frame_batch(columns: Mapping[str, np.ndarray], features: Sequence[str]) -> FrameBatch:
    """The batch of the columns of a `videos` data set, as the training stream delivers them, with the features named.

    columns: of every feature float16 (rows, frames, dim), int64 `<name>.kept` (rows,) and float32 `<name>.mean` (rows,
    dim); `tokens` int32 (rows, max_words); `clip_key`, `video_key`, `caption_key` int64 (rows,). Features and keys
    share the arrays' memory, read-only where that is, as Ray's is: nothing may write into them.
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
