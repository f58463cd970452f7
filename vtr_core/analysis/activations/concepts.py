"""Concepts named by the captions of each clip, as a sparse 0/1 matrix of clips and words."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from scipy.sparse import csr_array

from vtr_core.text.tokens.stop_words import is_concept
from vtr_core.text.tokens.vocabulary import tokenise


@dataclass(frozen=True)
class ClipConcepts:
    """`named` has a row for each clip and a column for each of `words`: 1 where the clip names the word."""

    words: tuple[str, ...]
    named: csr_array


def concept_words(captions: Sequence[str]) -> frozenset[str]:
    """The concepts named by any of a clip's captions: their words without function words."""
    return frozenset(word for caption in captions for word in tokenise(caption) if is_concept(word))


def clip_concepts(
    words_of: Sequence[Collection[str]], video_key: Int64[np.ndarray, " clips"], min_videos: int
) -> ClipConcepts:
    """The concepts named by clips of at least `min_videos` videos, in alphabetical order.

    words_of: distinct words of each clip. Videos are counted, not clips: a word from a single long video is no concept.
    """
    ids: dict[str, int] = {}
    concept = np.fromiter((ids.setdefault(word, len(ids)) for words in words_of for word in words), np.int64)
    clip = np.repeat(np.arange(len(words_of)), [len(words) for words in words_of]).astype(np.int64)
    video = np.unique(video_key, return_inverse=True)[1]
    in_videos = _ones(video[clip], concept, (len(words_of), len(ids)))
    frequency = (in_videos > 0).sum(axis=0)
    kept = sorted((word, number) for word, number in ids.items() if frequency[number] >= min_videos)
    named = _ones(clip, concept, (len(words_of), len(ids)))
    return ClipConcepts(tuple(word for word, _ in kept), named[:, [number for _, number in kept]])


def _ones(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """A sparse matrix with a 1 at each given position; positions that are given several times are added up."""
    return csr_array((np.ones(len(row), np.int64), (row, column)), shape)
