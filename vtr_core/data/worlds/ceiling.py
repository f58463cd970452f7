"""Upper bound of retrieval on synthetic data: ranking by the true concepts of every clip."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

from vtr_core.data.worlds.narrated_videos import SLOTS, SyntheticSettings, Truth, indices, lexicon, neighbours, truth
from vtr_core.text.tokens.vocabulary import tokenise

_NOT_MENTIONED = -1
_MAX_TOLD = 3


class Oracle:
    """Scores of captions against clips from the clips' true concepts S and the concepts Q that a caption mentions.

    A caption of clip i describes clip i with probability 1 − m, else one of its neighbours N(i) drawn uniformly
    (always clip i where N(i) is empty). The mentioned slots, synonyms and the sentence are drawn independently of the
    concepts. Hence P(caption | clip i) = c(caption) · s(Q, i) with

        s(Q, i) = (1 − m) · 1[Q ⊆ S_i] + m / |N(i)| · Σ_{j ∈ N(i)} 1[Q ⊆ S_j],        m = 0 where N(i) is empty,

    where c does not depend on i. A clip at the border of a video has one neighbour, with the whole probability m. With
    equal priors P(clip i | caption) ∝ s(Q, i), and ranking by the posterior maximises the expectation of every
    recall@k; tied clips are interchangeable, so ties count in expectation. Features add no information, as they are
    noisy functions of S.

    For clip → caption a caption's score is divided by its prior P(Q) = Π_{q ∈ Q} frequency(q). The division does not
    change caption → clip rankings, so `scores` returns s(Q, i) / P(Q). Clip → caption assumes independent captions in
    the gallery, which those of one video are not: the result is a strong reference there, and a bound for caption →
    clip only.
    """

    def __init__(self, settings: SyntheticSettings, rows: Sequence[tuple[str, str]]) -> None:
        """rows: (clip_id, caption); each is an item, and its caption a query."""
        self._frequencies = settings.frequencies
        self._queries = _mentioned(settings, [caption for _, caption in rows])
        self._told, self._weights = _tellable(settings, [clip for clip, _ in rows])

    def scores(self, query_slice: slice) -> Float[np.ndarray, "queries items"]:
        """s(Q, i) / P(Q) of the captions of `rows[query_slice]` against the clips of all rows, float64."""
        queries = self._queries[query_slice]
        total = np.zeros((len(queries), len(self._told)))
        for option in range(_MAX_TOLD):
            total += self._weights[:, option] * _contains(self._told[:, option], queries)
        return total / self._prior(queries)[:, None]

    def _prior(self, queries: Int[np.ndarray, "queries slots"]) -> Float[np.ndarray, " queries"]:
        return np.where(queries == _NOT_MENTIONED, 1.0, self._frequencies[queries]).prod(axis=1)


def best_possible(
    settings: SyntheticSettings, rows: Sequence[tuple[str, str]], ks: Sequence[int] = (1, 5, 10), chunk: int = 256
) -> dict[int, float]:
    """The greatest expected caption → clip recall@k over (clip_id, caption) `rows`, as {k: recall in [0, 1]}.

    Each row is a separate item. With g items above the relevant one and t tied with it, itself included, the relevant
    item is among the first k with probability (k − g) / t, clipped to [0, 1].
    """
    oracle = Oracle(settings, rows)
    totals = dict.fromkeys(ks, 0.0)
    for first in range(0, len(rows), chunk):
        scores = oracle.scores(slice(first, first + chunk))
        own = scores[np.arange(len(scores)), first + np.arange(len(scores))][:, None]
        above, tied = (scores > own).sum(axis=1), (scores == own).sum(axis=1)
        for k in ks:
            totals[k] += float(np.clip((k - above) / tied, 0, 1).sum())
    return {k: total / max(1, len(rows)) for k, total in totals.items()}


def _mentioned(settings: SyntheticSettings, captions: Sequence[str]) -> Int[np.ndarray, "queries slots"]:
    meanings = lexicon(settings.num_concepts)
    queries = np.full((len(captions), len(SLOTS)), _NOT_MENTIONED)
    for row, caption in enumerate(captions):
        for slot, concept in (meanings[word] for word in tokenise(caption) if word in meanings):
            queries[row, slot] = concept
    return queries


def _tellable(
    settings: SyntheticSettings, clips: Sequence[str]
) -> tuple[Int[np.ndarray, "items told slots"], Float[np.ndarray, "items told"]]:
    """The contents that a caption of each clip may describe (its own, then its neighbours'), with their
    probabilities."""
    told = np.zeros((len(clips), _MAX_TOLD, len(SLOTS)), np.int64)
    weights = np.zeros((len(clips), _MAX_TOLD))
    known: dict[int, Truth] = {}
    for row, (video, clip) in enumerate(map(indices, clips)):
        if video not in known:
            known[video] = truth(settings, video)
        for option, (other, probability) in enumerate(_options(settings, clip, len(known[video])).items()):
            told[row, option], weights[row, option] = known[video].concepts[other], probability
    return told, weights


def _options(settings: SyntheticSettings, clip: int, num_clips: int) -> Mapping[int, float]:
    others = neighbours(clip, num_clips)
    if not others:
        return {clip: 1.0}
    return {clip: 1 - settings.misalignment} | dict.fromkeys(others, settings.misalignment / len(others))


def _contains(
    content: Int[np.ndarray, "items slots"], queries: Int[np.ndarray, "queries slots"]
) -> Float[np.ndarray, "queries items"]:
    """1 where an item contains all concepts that a query mentions, else 0."""
    found = np.ones((len(queries), len(content)), bool)
    for slot in range(len(SLOTS)):
        asked = queries[:, slot, None]
        found &= (asked == _NOT_MENTIONED) | (asked == content[:, slot])
    return found.astype(np.float64)
