"""Captions as tokens of a model's vocabulary."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from vtr_core.retrieval.embed.clips import caption_columns
from vtr_core.text.tokens.vocabulary import Vocabulary


def encode(vocabulary: Vocabulary, captions: Sequence[str], max_words: int) -> Int64[Tensor, "captions max_words"]:
    """The token ids of captions."""
    return torch.from_numpy(caption_columns(vocabulary, captions, max_words)["tokens"].astype(np.int64))
