"""How rare n-grams are in a corpus, for captions outside of it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from vtr_core.text.statistics.consensus import inverse_document_frequency
from vtr_core.text.tokens.ngrams import NGrams, ngrams


@dataclass(frozen=True)
class Rarity:
    """The inverse document frequency of every n-gram of a corpus, sorted by the n-grams' keys."""

    key: UInt64[np.ndarray, " grams"]
    idf: Float64[np.ndarray, " grams"]
    unseen: float
    """Of n-grams that the corpus lacks: the logarithm of its number of documents."""

    def of(self, grams: NGrams) -> Float64[np.ndarray, " grams"]:
        """The inverse document frequencies of other captions' n-grams."""
        if not len(self.key):
            return np.full(grams.num_grams, self.unseen)
        place = np.minimum(np.searchsorted(self.key, grams.key), len(self.key) - 1)
        return np.where(self.key[place] == grams.key, self.idf[place], self.unseen)


def rarity(captions: Sequence[Sequence[Hashable]], document: Int64[np.ndarray, " captions"]) -> Rarity:
    """That of a corpus of captions, each given as its words, in documents counted from 0; see
    `inverse_document_frequency`."""
    grams = ngrams(captions)
    idf = inverse_document_frequency(grams, document, np.ones(len(captions), bool))
    order = np.argsort(grams.key)
    return Rarity(grams.key[order], idf[order], float(np.log(max(1, len(np.unique(document))))))
