"""A batch of clips as tensors: features with their presence, caption tokens, and keys of clip, video and caption."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.data.batches.rows import CaptionedBatch, shared_tensor


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
        tokens=shared_tensor(columns["tokens"].astype(np.int64)),
        clip_key=shared_tensor(columns["clip_key"]),
        video_key=shared_tensor(columns["video_key"]),
        caption_key=shared_tensor(columns["caption_key"]),
        candidate_tokens=shared_tensor(candidates.astype(np.int64)) if candidates is not None else None,
    )
