"""Captions become rows of word ids; those that are cut are counted."""

import numpy as np

from vtr_core.data.ingest.record_tables import caption_tokens
from vtr_core.data.sources.source import Drops
from vtr_core.text.tokens.vocabulary import Vocabulary


def test_cut_captions_are_counted_and_unknown_words_are_not() -> None:
    words, drops = Vocabulary(("a", "b")), Drops(strict=True)
    found = caption_tokens(["a b a", "a x y z b", "b", ""], words, 2, drops)
    assert found.tolist() == [[1, 2], [1, 2], [2, 0], [0, 0]]
    assert found.dtype == np.int32
    assert (drops.shortened, dict(drops.counts)) == (1, {})
    assert caption_tokens([], words, 2, drops).shape == (0, 2)
