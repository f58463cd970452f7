"""Base classes of batches: tensors with a row per item, moved and split together."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

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

    def _rows(self: C, kept: slice) -> C:
        return self._each(lambda tensor: tensor[kept])


def shared_tensor(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory, which may be read-only (as Ray's) and must not be modified."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)
