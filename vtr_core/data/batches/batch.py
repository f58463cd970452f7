"""A batch of clips as tensors: features with their presence, caption tokens, and keys that tell equal rows apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.data.batches.shared import shared_tensor


@dataclass(frozen=True)
class RowKeys:
    """What each row shows: rows with an equal key show the same clip, video or caption text."""

    clip: Int64[Tensor, " batch"]
    video: Int64[Tensor, " batch"]
    caption: Int64[Tensor, " batch"]

    def __getitem__(self, rows: Bool[Tensor, " batch"]) -> "RowKeys":
        """The keys of the rows where `rows` is true."""
        return RowKeys(self.clip[rows], self.video[rows], self.caption[rows])


@dataclass(frozen=True)
class ClipBatch:
    """Rows of clip and caption. Features are float16 as stored; a model casts them to what it computes in.

    The values of a feature in rows where it is not present mean nothing. Token 0 is padding.
    """

    features: dict[str, Float[Tensor, "batch _"]]
    present: dict[str, Bool[Tensor, " batch"]]
    tokens: Int64[Tensor, "batch max_words"]
    clip_key: Int64[Tensor, " batch"]
    video_key: Int64[Tensor, " batch"]
    caption_key: Int64[Tensor, " batch"]
    candidate_tokens: Int64[Tensor, "batch extra max_words"] | None = None
    """Further captions that may describe the clip, for losses over bags of texts; none of them is empty where the
    row's own caption is not."""

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

    def split(self, rows: int) -> "list[ClipBatch]":
        """The batch in pieces of at most `rows` rows, in order; one piece, empty, of an empty batch."""
        return [self._rows(slice(first, first + rows)) for first in range(0, max(self.rows, 1), rows)]

    def _rows(self, kept: slice) -> "ClipBatch":
        return ClipBatch(
            features={name: values[kept] for name, values in self.features.items()},
            present={name: values[kept] for name, values in self.present.items()},
            tokens=self.tokens[kept],
            clip_key=self.clip_key[kept],
            video_key=self.video_key[kept],
            caption_key=self.caption_key[kept],
            candidate_tokens=None if self.candidate_tokens is None else self.candidate_tokens[kept],
        )

    def to(self, device: torch.device | str) -> "ClipBatch":
        """The batch on `device`; without a copy where it is there already."""
        return ClipBatch(
            features={name: values.to(device) for name, values in self.features.items()},
            present={name: values.to(device) for name, values in self.present.items()},
            tokens=self.tokens.to(device),
            clip_key=self.clip_key.to(device),
            video_key=self.video_key.to(device),
            caption_key=self.caption_key.to(device),
            candidate_tokens=None if self.candidate_tokens is None else self.candidate_tokens.to(device),
        )


def clip_batch(columns: Mapping[str, np.ndarray], features: Sequence[str]) -> ClipBatch:
    """The batch of the columns of a `clips` data set, on the CPU, with the features named.

    columns: float16 (rows, dim) and bool `has_<name>` of every feature, `tokens` int32 (rows, max_words), `clip_key`,
    `video_key`, `caption_key` int64 (rows,), and perhaps `candidate_tokens` int32 (rows, extra, max_words). Features
    and keys share the arrays' memory, read-only where that is, as Ray's is: nothing may write into them.
    """
    candidates = columns.get("candidate_tokens")
    return ClipBatch(
        features={name: shared_tensor(columns[name]) for name in features},
        present={name: shared_tensor(columns[f"has_{name}"]) for name in features},
        tokens=shared_tensor(columns["tokens"].astype(np.int64)),
        clip_key=shared_tensor(columns["clip_key"]),
        video_key=shared_tensor(columns["video_key"]),
        caption_key=shared_tensor(columns["caption_key"]),
        candidate_tokens=shared_tensor(candidates.astype(np.int64)) if candidates is not None else None,
    )
