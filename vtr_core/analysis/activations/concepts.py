"""Which concepts the captions of each clip name: a sparse 0/1 matrix of clips and words."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core.text.tokens.stop_words import is_concept
from vtr_core.text.tokens.vocabulary import tokenise


@dataclass(frozen=True)
class ClipConcepts:
    """The concepts of clips 0 … `clips` − 1: entry i says that clip `clip[i]` names `words[concept[i]]`, once each."""

    words: tuple[str, ...]
    clips: int
    clip: Int64[np.ndarray, " entries"]
    """Ascending."""
    concept: Int64[np.ndarray, " entries"]

    def select(self, kept: Int64[np.ndarray, " kept"]) -> "ClipConcepts":
        """The clips at the ascending positions `kept`, numbered anew; all words stay."""
        position = np.full(self.clips, -1, np.int64)
        position[kept] = np.arange(len(kept))
        inside = position[self.clip] >= 0
        return ClipConcepts(self.words, len(kept), position[self.clip[inside]], self.concept[inside])

    def pieces(self, clips: int) -> Iterator[tuple[slice, Float32[np.ndarray, "clips words"]]]:
        """Dense pieces of at most `clips` clips: which they are, and 1 where a clip names a word, 0 elsewhere."""
        for first in range(0, self.clips, clips):
            last = min(first + clips, self.clips)
            begin, end = np.searchsorted(self.clip, (first, last))
            dense = np.zeros((last - first, len(self.words)), np.float32)
            dense[self.clip[begin:end] - first, self.concept[begin:end]] = 1
            yield slice(first, last), dense


def concept_words(captions: Sequence[str]) -> frozenset[str]:
    """The concepts that a clip's captions name together: their words without function words."""
    return frozenset(word for caption in captions for word in tokenise(caption) if is_concept(word))


def clip_concepts(
    words_of: Sequence[Collection[str]], video_key: Int64[np.ndarray, " clips"], min_videos: int
) -> ClipConcepts:
    """The concepts that clips of at least `min_videos` videos name, in alphabetical order.

    words_of: distinct words of each clip. Videos are counted, not clips: a word that one long video repeats is none.
    """
    ids: dict[str, int] = {}
    concept = np.fromiter((ids.setdefault(word, len(ids)) for words in words_of for word in words), np.int64)
    clip = np.repeat(np.arange(len(words_of)), [len(words) for words in words_of]).astype(np.int64)
    videos = np.unique(video_key, return_inverse=True)[1]
    pairs = np.unique(np.stack([concept, videos[clip]]), axis=1) if len(clip) else np.zeros((2, 0), np.int64)
    frequency = np.bincount(pairs[0], minlength=len(ids))
    kept = sorted((word, number) for word, number in ids.items() if frequency[number] >= min_videos)
    renumbered = np.full(len(ids), -1, np.int64)
    renumbered[[number for _, number in kept]] = np.arange(len(kept))
    inside = renumbered[concept] >= 0
    return ClipConcepts(tuple(word for word, _ in kept), len(words_of), clip[inside], renumbered[concept[inside]])
