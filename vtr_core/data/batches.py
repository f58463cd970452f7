"""Batches as tensors: of clips, videos, images and pictures, with a row per item, moved and split together."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, UInt8
from torch import Tensor

from vtr_core.data.records.arrays import kept_column, mean_column
from vtr_core.data.records.schema import FRAMES

T = TypeVar("T", bound="TensorBatch")
C = TypeVar("C", bound="CaptionedBatch")


@dataclass(frozen=True)
class RowKeys:
    """Keys of each row: rows with equal keys have the same clip, video or caption text."""

    clip: Int64[Tensor, " batch"]
    video: Int64[Tensor, " batch"]
    caption: Int64[Tensor, " batch"]

    def __getitem__(self, rows: Bool[Tensor, " batch"]) -> "RowKeys":
        """The keys of the rows where `rows` is true."""
        return RowKeys(self.clip[rows], self.video[rows], self.caption[rows])


@dataclass(frozen=True)
class TensorBatch:
    """A batch of tensors, dictionaries of tensors, or None; each tensor has a row for each item."""

    def to(self: T, device: torch.device | str) -> T:
        """The batch on `device`, without a copy where it already is there."""
        return self._each(lambda tensor: tensor.to(device))

    def _each(self: T, change: Callable[[Tensor], Tensor]) -> T:
        """The batch with `change` applied to every tensor."""

        def changed(value: Tensor | dict[str, Tensor] | None) -> Tensor | dict[str, Tensor] | None:
            match value:
                case None:
                    return None
                case dict():
                    return {name: change(tensor) for name, tensor in value.items()}
                case _:
                    return change(value)

        return replace(self, **{name: changed(value) for name, value in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class CaptionedBatch(TensorBatch):
    """Rows of a clip or video and a caption. Token 0 is padding."""

    tokens: Int64[Tensor, "batch max_words"]
    clip_key: Int64[Tensor, " batch"]
    """Keys of clips; for whole videos the key of the video."""
    video_key: Int64[Tensor, " batch"]
    caption_key: Int64[Tensor, " batch"]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.tokens)

    @property
    def text_present(self) -> Bool[Tensor, " batch"]:
        """Whether a row's caption has at least one word of the vocabulary."""
        return (self.tokens != 0).any(dim=1)

    @property
    def keys(self) -> RowKeys:
        """The keys of all rows."""
        return RowKeys(clip=self.clip_key, video=self.video_key, caption=self.caption_key)

    def split(self: C, rows: int) -> list[C]:
        """The batch in pieces of at most `rows` rows, in order; an empty batch yields one empty piece."""
        return [self._rows(slice(first, first + rows)) for first in range(0, max(self.rows, 1), rows)]

    def _rows(self: C, rows: slice) -> C:
        return self._each(lambda tensor: tensor[rows])


def shared_tensor(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory, which may be read-only (as Ray's) and must not be modified."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)


def _captioned(columns: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The tensors of a CaptionedBatch."""
    keys = {name: shared_tensor(columns[name]) for name in ("clip_key", "video_key", "caption_key")}
    return {"tokens": shared_tensor(columns["tokens"].astype(np.int64)), **keys}


@dataclass(frozen=True, kw_only=True)
class ClipBatch(CaptionedBatch):
    """Rows of clip and caption. Features are float16 as stored; models cast them to their dtype.

    The values of a feature are undefined in rows where it is not present.
    """

    features: dict[str, Float[Tensor, "batch _"]]
    present: dict[str, Bool[Tensor, " batch"]]
    candidate_tokens: Int64[Tensor, "batch extra max_words"] | None = None
    """Further candidate captions of the clip, for losses over bags of texts; none is empty unless the row's own caption
    is."""


def clip_batch(columns: Mapping[str, np.ndarray], features: Sequence[str]) -> ClipBatch:
    """A batch from the columns of a `clips` data set, on the CPU, with the given features.

    columns: float16 (rows, dim) and bool `has_<name>` of every feature, `tokens` int32 (rows, max_words), `clip_key`,
    `video_key`, `caption_key` int64 (rows,), optionally `candidate_tokens` int32 (rows, extra, max_words). Features and
    keys share the arrays' memory, which may be read-only (as Ray's): they must not be modified.
    """
    candidates = columns.get("candidate_tokens")
    return ClipBatch(
        features={name: shared_tensor(columns[name]) for name in features},
        present={name: shared_tensor(columns[f"has_{name}"]) for name in features},
        **_captioned(columns),
        candidate_tokens=shared_tensor(candidates.astype(np.int64)) if candidates is not None else None,
    )


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
    lengths = {name: shared_tensor(columns[kept_column(name)]) for name in features}
    return FrameBatch(
        frames={name: shared_tensor(columns[name]) for name in features},
        mask={name: torch.arange(columns[name].shape[1]) < lengths[name][:, None] for name in features},
        mean={name: shared_tensor(columns[mean_column(name)]) for name in features if mean_column(name) in columns},
        present={name: lengths[name] > 0 for name in features},
        **_captioned(columns),
    )


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
    image and subject.
    """
    height, width, channels = shape
    pixels = shared_tensor(columns["pixels"]).view(-1, height, width, channels).permute(0, 3, 1, 2).contiguous()
    return ImageBatch(pixels, shared_tensor(columns["clip_key"]).clone(), shared_tensor(columns["video_key"]).clone())


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
    pixels, lengths = shared_tensor(columns[FRAMES]), shared_tensor(columns[kept_column(FRAMES)])
    rows, frames = pixels.shape[:2]
    return PictureBatch(
        frames=pixels.view(rows, frames, height, width, 3).permute(0, 1, 4, 2, 3),
        mask=torch.arange(frames) < lengths[:, None],
        **_captioned(columns),
    )


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
