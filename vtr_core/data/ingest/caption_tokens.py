"""Captions as rows of token ids for shards, with a count of truncated ones."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32

from vtr_core.data.records.schema import TOKEN_DTYPE
from vtr_core.data.sources.source import Drops
from vtr_core.text.tokens.vocabulary import Vocabulary, padded_ids


def caption_tokens(
    captions: Sequence[str], vocabulary: Vocabulary, max_words: int, drops: Drops
) -> Int32[np.ndarray, "captions max_words"]:
    """The first `max_words` token ids of every caption; longer captions are counted as shortened."""
    known = vocabulary.known_all(captions)
    drops.shortened += sum(len(ids) > max_words for ids in known)
    rows = [padded_ids(ids, max_words) for ids in known]
    return np.array(rows, TOKEN_DTYPE).reshape(len(captions), max_words)
