"""Captions as the rows of word ids that shards hold, with a count of those that are cut."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32

from vtr_core.data.records.schema import TOKEN_DTYPE
from vtr_core.data.sources.source import Drops
from vtr_core.text.tokens.vocabulary import Vocabulary, padded_ids


def caption_tokens(
    captions: Sequence[str], vocabulary: Vocabulary, max_words: int, drops: Drops
) -> Int32[np.ndarray, "captions max_words"]:
    """The first `max_words` ids of every caption; those that have more are counted as shortened."""
    known = vocabulary.known_all(captions)
    drops.shortened += sum(len(ids) > max_words for ids in known)
    rows = [padded_ids(ids, max_words) for ids in known]
    return np.array(rows, TOKEN_DTYPE).reshape(len(captions), max_words)
