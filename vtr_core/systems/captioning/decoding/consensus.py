"""The caption that others agree with most: minimum Bayes risk decoding with CIDEr's n-grams as the gain."""

from collections.abc import Sequence

import numpy as np

from vtr_core.text.statistics.consensus import consensus, weighted
from vtr_core.text.tokens.ngrams import ngrams


def most_agreed(hypotheses: Sequence[Sequence[int]], judges: Sequence[Sequence[int]]) -> list[int]:
    """The hypothesis with the highest mean CIDEr-D with the judges; of equal ones the first.

    All n-grams have the same weight, instead of document frequencies.
    """
    captions = [*hypotheses, *judges]
    asked = np.arange(len(captions)) < len(hypotheses)
    grams = ngrams(captions)
    vectors = weighted(grams, np.ones(grams.num_grams))
    gains = consensus(vectors, np.zeros(len(captions), np.int64), asked, ~asked)[asked]
    return list(hypotheses[int(gains.argmax())])
