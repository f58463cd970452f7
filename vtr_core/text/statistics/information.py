"""Information content of captions, in three definitions over n-gram document frequencies."""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
from jaxtyping import Float64, Int64

from vtr_core.config.losses.granularity import Reading
from vtr_core.errors import DatasetError
from vtr_core.text.statistics.consensus import SCALE, Weighted, consensus, inverse_document_frequency, weighted
from vtr_core.text.tokens.ngrams import LONGEST, ngrams


def information(
    captions: Sequence[Sequence[str]], document: Int64[np.ndarray, " captions"], reading: Reading
) -> Float64[np.ndarray, " captions"]:
    """The information content of every caption, given as its words; `document` is its video, counted from 0.

    Document frequencies are computed over the given captions, with all captions of a video as one document (Gu and Yao
    2023, section 2.1; the paper does not say what a sentence is compared with, hence three definitions):

    - leave_one_out: CIDEr-D against the other captions of its video. Low: it agrees with none of them. Undefined for
      the only caption of a video; such a caption gets the mean of all defined values, so that it is neither common nor
      rare.
    - corpus: 10 · mean over n and over all captions c of cos(caption, c), computed as a product with the mean
      direction.
    - idf: the mean idf of its n-grams of all lengths, 0 without any. High: rare words.

    Raises DatasetError where leave_one_out is defined for no caption.
    """
    grams = ngrams(captions)
    every = np.ones(len(document), bool)
    vectors = weighted(grams, inverse_document_frequency(grams, document, every))
    match reading:
        case "leave_one_out":
            return _with_mean(consensus(vectors, document, every, every))
        case "corpus":
            return _against_mean(vectors)
        case "idf":
            return _mean_idf(vectors)
        case _:
            assert_never(reading)


def _with_mean(values: Float64[np.ndarray, " captions"]) -> Float64[np.ndarray, " captions"]:
    defined = ~np.isnan(values)
    if not defined.any():
        raise DatasetError(
            "no video has two captions, so leave_one_out compares none; use the reading corpus or idf instead"
        )
    return np.where(defined, values, values[defined].mean())


def _against_mean(vectors: Weighted) -> Float64[np.ndarray, " captions"]:
    """`corpus` in time linear in the entries: mean of cosines = product with the mean direction, summed over n."""
    grams, direction, captions = vectors.grams, vectors.direction, len(vectors.grams.words)
    mean = np.bincount(grams.gram, direction, grams.num_grams) / max(1, captions)
    return SCALE / LONGEST * np.bincount(grams.caption, direction * mean[grams.gram], captions)


def _mean_idf(vectors: Weighted) -> Float64[np.ndarray, " captions"]:
    grams, captions = vectors.grams, len(vectors.grams.words)
    mass = np.bincount(grams.caption, vectors.weight, captions)
    return mass / np.maximum(1, np.bincount(grams.caption, grams.count, captions))
