"""Ranking of videos for queries: in a joint space block by block, or by latent space, concept space, both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, assert_never

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import Comparison
from vtr_core.config.run import Normalisation
from vtr_core.embedding.rankings import Entries, block_scores
from vtr_core.errors import ConfigError
from vtr_core.similarity import (
    Similarity,
    SimilarityKind,
    cosine,
    cosine_to,
    dot_to,
    generalized_jaccard,
    hybrid,
    lengths,
    mean_over_modalities,
)

Space = Literal["hybrid", "latent", "concept"]


@dataclass(frozen=True)
class DualVideos:
    """The searched videos: latent vectors, concept logits, or both."""

    video_id: Sequence[str]
    """() where ids come from elsewhere, as those of an index."""
    latent: Float32[Tensor, "videos dim"] | None
    concept: Float32[Tensor, "videos concepts"] | None
    concepts: tuple[str, ...]
    """The names of the concepts, in the order of the scores."""
    similarity: Comparison
    """The similarity of concept scores."""

    @cached_property
    def latent_lengths(self) -> Float32[Tensor, " videos"]:
        """The lengths of the latent vectors, computed by the first search."""
        assert self.latent is not None
        return lengths(self.latent)


@dataclass(frozen=True)
class DualQuery:
    """A query in the same spaces."""

    text: str
    latent: Float32[Tensor, " dim"] | None
    concept: Float32[Tensor, " concepts"] | None


@dataclass(frozen=True)
class Scoring:
    """The policy of a dual encoder's scores: the same object in evaluation, search, serving, explanations and analyses.

    A query without a known word has no score and a video without frames is no item; neither moves a range.
    """

    space: Space
    transform: Transform
    """Transform of the concept scores before the comparison, with their similarity."""
    latent_weight: float = 0.6
    """α of α · latent + (1 − α) · concept."""
    normalise: Normalisation = "query"
    """Hybrid: each space is scaled to [0, 1] by the lowest and highest score of all items for this query ("query"), by
    those of the training batches ("train"), which are stored with the model, or by those of all queries and items that
    are scored together ("matrix", of a single query those of its own)."""
    ranges: Float32[Tensor, "2 2"] | None = None
    """Score ranges of the training batches: rows latent and concept, columns lowest and highest."""
    candidates: int | None = None
    """Number of candidates, the best in latent space, that hybrid search ranks; None ranks all videos."""

    def __post_init__(self) -> None:
        if not 0 <= self.latent_weight <= 1:
            raise ConfigError(f"the weight of latent space is {self.latent_weight:g}; it must be from 0 to 1")
        if self.candidates is not None and self.candidates < 1:
            raise ConfigError(f"--candidates is {self.candidates}; it must be 1 or more")
        if self.normalise == "train" and self.space == "hybrid":
            self._check_ranges()

    def _check_ranges(self) -> None:
        if self.ranges is None or not bool((self.ranges[:, 1] > self.ranges[:, 0]).all()):
            raise ConfigError(
                "scores rescaled by those of training batches (evaluation.normalise train): the model keeps no ranges "
                "of training scores; use query"
            )
        if not self.transform.is_identity:
            raise ConfigError(
                "the ranges of training scores are those without a transform; rescale by query (--normalise query)"
            )

    def transformed(self, transform: Transform) -> "Scoring":
        """The policy under a transform.

        Ranges of training scores, which are of scores without one, give way to those of the query.
        """
        by_query = self.normalise == "train" and not transform.is_identity
        return replace(self, transform=transform, normalise="query" if by_query else self.normalise)

    @property
    def concept_weight(self) -> float:
        """The weight of the concept similarity in the score: 1 − α, 1 or 0."""
        match self.space:
            case "hybrid":
                return 1 - self.latent_weight
            case "concept":
                return 1.0
            case "latent":
                return 0.0
            case _:
                assert_never(self.space)


@dataclass(frozen=True)
class VideoScores:
    """The scores of all videos for one query; None for a space that the model lacks."""

    total: Float32[Tensor, " videos"]
    latent: Float32[Tensor, " videos"] | None
    concept: Float32[Tensor, " videos"] | None


@dataclass(frozen=True)
class PreparedSearch:
    """Videos with transformed concept scores, for many queries under one scoring."""

    videos: DualVideos
    scoring: Scoring
    compared: Float32[Tensor, "videos concepts"] | None

    def score(self, query: DualQuery, latent: Float32[Tensor, " videos"] | None = None) -> VideoScores:
        """The scores of all videos. latent: `latent_scores` of the query, where already computed."""
        latent = latent_scores(self.videos, query) if latent is None else latent
        concept = None
        if self.compared is not None and query.concept is not None:
            transformed = self.scoring.transform.apply(query.concept)
            concept = concept_scores(self.compared, transformed, self.scoring.transform.similarity)
        return _combined(latent, concept, self.scoring)


def prepare(videos: DualVideos, scoring: Scoring) -> PreparedSearch:
    """`videos` transformed for `scoring`; ConfigError for a space that the model does not have."""
    _check_space(videos, scoring.space)
    return PreparedSearch(videos, scoring, None if videos.concept is None else scoring.transform.apply(videos.concept))


def _check_space(videos: DualVideos, space: Space) -> None:
    needed = ("latent", "concept") if space == "hybrid" else (space,)
    held = [
        name
        for name, space_vectors in (("latent", videos.latent), ("concept", videos.concept))
        if space_vectors is not None
    ]
    if not set(needed) <= set(held):
        raise ConfigError(f"the model has no {space} space, it has {' and '.join(held)}; use --space {held[0]}")


def latent_scores(videos: DualVideos, query: DualQuery) -> Float32[Tensor, " videos"] | None:
    """The cosine of the query with every video, but for rounding that of evaluation; None without a latent space."""
    if videos.latent is None or query.latent is None:
        return None
    return cosine_to(query.latent[None], videos.latent, videos.latent_lengths)[0]


def concept_scores(
    compared: Float32[Tensor, "videos concepts"], query: Float32[Tensor, " concepts"], similarity: Comparison
) -> Float32[Tensor, " videos"]:
    """The similarity of transformed concept scores."""
    match similarity:
        case "jaccard":
            return generalized_jaccard(query[None], compared)[0]
        case "cosine":
            return cosine(query[None], compared)[0]
        case "dot":
            return compared @ query
        case _:
            assert_never(similarity)


def _combined(
    latent: Float32[Tensor, " videos"] | None, concept: Float32[Tensor, " videos"] | None, scoring: Scoring
) -> VideoScores:
    """The scores with their combination: the score of one space, or the weighted sum of both, rescaled."""
    match scoring.space:
        case "latent":
            assert latent is not None
            return VideoScores(latent, latent, concept)
        case "concept":
            assert concept is not None
            return VideoScores(concept, latent, concept)
        case "hybrid":
            assert latent is not None
            assert concept is not None
            both = hybrid(latent[None], concept[None], scoring.latent_weight, scoring.normalise, scoring.ranges)
            return VideoScores(both[0], latent, concept)
        case _:
            assert_never(scoring.space)


def ranked(scores: VideoScores, scoring: Scoring, k: int, chosen: np.ndarray | None = None) -> Int64[np.ndarray, " k"]:
    """The positions of the k best videos, best first, ties in data set order.

    Hybrid search with fewer candidates than videos ranks only these, at least k. chosen: given candidates, in any
    order; None selects the best latent scores, exactly.
    """
    total = scores.total.numpy()
    if scoring.space == "hybrid" and chosen is None and scoring.candidates is not None:
        assert scores.latent is not None
        chosen = best(scores.latent.numpy(), max(scoring.candidates, k))
    if chosen is None:
        return best(total, k)
    candidates = np.sort(chosen)
    return candidates[best(total[candidates], k)]


def best(scores: np.ndarray, k: int) -> Int64[np.ndarray, " k"]:
    """The positions of the k largest, largest first, ties by position; NaN is below everything.

    Only those that are not below the k-th largest are sorted.
    """
    negative = -scores
    if k < len(negative):
        threshold = np.partition(negative, k - 1)[k - 1]
        positions = np.flatnonzero(negative <= threshold)
        if len(positions) >= k:  # not with NaN among the k
            return positions[np.argsort(negative[positions], kind="stable")[:k]].astype(np.int64)
    return np.argsort(negative, kind="stable")[:k].astype(np.int64)


def rank_of(scores: VideoScores, positions: np.ndarray) -> int:
    """The rank, from 1, of the best of `positions` among all videos, ties by position."""
    order = np.argsort(-scores.total.numpy(), kind="stable")
    return int(np.flatnonzero(np.isin(order, positions))[0]) + 1


def as_tensor(values: np.ndarray | None) -> Tensor | None:
    """A float32 tensor on the CPU; None for None."""
    return None if values is None else torch.from_numpy(np.ascontiguousarray(values, np.float32))


@dataclass(frozen=True)
class JointItems:
    """The searched clips: vectors by modality, and whether a clip has it."""

    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]

    @property
    def num_items(self) -> int:
        """The number of clips."""
        return len(next(iter(self.vectors.values())))

    @cached_property
    def lengths(self) -> dict[str, Float32[Tensor, " clips"]]:
        """The vectors' lengths, computed by the first search of all: to normalise all for each would copy them."""
        return {name: lengths(torch.from_numpy(vectors)) for name, vectors in self.vectors.items()}

    def scores(
        self,
        queries: Float32[np.ndarray, "queries dim"],
        similarity: SimilarityKind,
        chosen: slice | Int64[np.ndarray, " chosen"] = slice(None),
    ) -> Float32[np.ndarray, "queries clips"]:
        """The scores of the clips `chosen`: the mean over a clip's modalities, as in evaluation.

        Cosines and dot products are evaluation's but for rounding.
        """
        vectors = [vectors[chosen] for vectors in self.vectors.values()]
        present = [present[chosen] for present in self.present.values()]
        by_modality: list[Similarity] = [dot_to] * len(vectors)
        if similarity == "cosine":
            by_modality = [partial(cosine_to, lengths_b=length) for length in self._lengths(vectors, chosen)]
        elif similarity != "dot":
            texts, items = _entries([queries], [np.ones(len(queries), bool)]), _entries(vectors, present)
            scores = block_scores(texts, items, similarity)(slice(0, len(queries)), slice(0, len(items.key)))
            return np.asarray(scores, np.float32)
        sides = [torch.from_numpy(queries)], list(map(torch.from_numpy, vectors))
        has = [torch.ones(len(queries), dtype=torch.bool)], list(map(torch.from_numpy, present))
        return np.asarray(mean_over_modalities(*sides, *has, by_modality), np.float32)

    def _lengths(
        self, vectors: list[np.ndarray], chosen: slice | Int64[np.ndarray, " chosen"]
    ) -> list[Float32[Tensor, " chosen"]]:
        """Those of `chosen`; of a few vectors they are computed, as those of all would read every vector."""
        if isinstance(chosen, slice):
            return [length[chosen] for length in self.lengths.values()]
        return [lengths(torch.from_numpy(part)) for part in vectors]


def _entries(vectors: list[np.ndarray], present: list[np.ndarray]) -> Entries:
    return Entries(tuple(map(torch.from_numpy, vectors)), tuple(present), np.zeros(len(vectors[0]), np.int64))


BLOCK = 8192
"""Items whose scores are held at once: with 64 queries 2 MB."""


@dataclass(frozen=True)
class Nearest:
    """The best items for one query, best first, ties by position; NaN is below everything."""

    scores: Float32[np.ndarray, " found"]
    positions: Int64[np.ndarray, " found"]

    def shifted(self, first: int) -> "Nearest":
        """The same items, counted from `first`."""
        return Nearest(self.scores, self.positions + first)


def best_of(parts: Sequence[Nearest], k: int) -> Nearest:
    """The k best of all parts, which are in the order of their positions."""
    scores = np.concatenate([part.scores for part in parts])
    order = best(scores, k)
    return Nearest(scores[order], np.concatenate([part.positions for part in parts])[order])


def nearest(
    items: JointItems,
    queries: Float32[np.ndarray, "queries dim"],
    similarity: SimilarityKind,
    k: int,
    among: Int64[np.ndarray, " chosen"] | None = None,
) -> list[Nearest]:
    """The k best items for each query, of the ascending positions `among` (None: of all).

    Every block of vectors is read once, for all queries; of its scores only those above a query's k-th best so far are
    looked at again.
    """
    nothing = Nearest(np.zeros(0, np.float32), np.zeros(0, np.int64))
    top = [nothing] * len(queries)
    lowest = np.full((len(queries), 1), np.nan, np.float32)  # nothing is at most NaN: until k are found all are better
    for first, chosen in _blocks(items.num_items, among):
        scores = items.scores(queries, similarity, chosen)
        better = ~(scores <= lowest)
        for query in np.flatnonzero(better.any(axis=1)):
            places = np.flatnonzero(better[query])
            positions = first + places if isinstance(chosen, slice) else chosen[places]
            top[query] = best_of([top[query], Nearest(scores[query][places], positions)], k)
            if len(top[query].scores) == k:
                lowest[query] = top[query].scores[-1]
    return top


def _blocks(
    num_items: int, among: Int64[np.ndarray, " chosen"] | None
) -> Iterator[tuple[int, slice | Int64[np.ndarray, " block"]]]:
    count = num_items if among is None else len(among)
    for first in range(0, count, BLOCK):
        yield first, slice(first, min(first + BLOCK, count)) if among is None else among[first : first + BLOCK]
