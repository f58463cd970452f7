"""The scores of captions against videos in the spaces of a dual encoder, block by block."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.evaluation import Normalisation
from vtr_core.errors import ConfigError
from vtr_core.metrics.standing import ScoreChunk
from vtr_core.retrieval.embed.encoded import Encoded
from vtr_core.similarity import cosine, generalized_jaccard, rescale
from vtr_core.systems.dual.ranking.tiles import DualSpace
from vtr_core.systems.dual.rows import DualRows, dual_encoder
from vtr_core.systems.loaded_model import TrainedModel

BLOCK = 512
HELD = 2**28
"""Maximum number of scores of a space that are kept in memory (1 GiB); above it blocks are recomputed when needed."""


@dataclass(frozen=True)
class Scores:
    """Queries against items: `block(queries, items)` is (queries, items), higher is more similar."""

    block: ScoreChunk
    num_queries: int
    num_items: int

    def held(self) -> "Scores":
        """The same scores, computed once and kept if there are not too many."""
        if self.num_queries * self.num_items > HELD:
            return self
        whole = np.empty((self.num_queries, self.num_items), np.float32)
        for queries in slices(self.num_queries):
            whole[queries] = self.block(queries, slice(0, self.num_items))
        return Scores(lambda queries, items: whole[queries, items], self.num_queries, self.num_items)


def space_scores(rows: DualRows, concept_similarity: ConceptSimilarity) -> dict[DualSpace, Scores]:
    """Captions against videos in each space that the rows have: cosine, and `concept_similarity` for concepts."""
    return pair_scores(
        (rows.latent_text, rows.latent_video), (rows.concept_text, rows.concept_video), concept_similarity
    )


def pair_scores(
    latent: tuple[np.ndarray | None, np.ndarray | None],
    concept: tuple[np.ndarray | None, np.ndarray | None],
    concept_similarity: ConceptSimilarity,
) -> dict[DualSpace, Scores]:
    """`space_scores` of vectors of texts and videos in each space; None for a space that the model lacks."""
    found: dict[DualSpace, Scores] = {}
    if latent[0] is not None and latent[1] is not None:
        found["latent"] = _scores(latent[0], latent[1], cosine)
    text, video = concept
    if text is not None and video is not None:
        if concept_similarity == "cosine":
            found["concept"] = _scores(text, video, cosine)
        else:
            found["concept"] = _scores(_probabilities(text), _probabilities(video), generalized_jaccard)
    return {space: scores.held() for space, scores in found.items()}


def hybrid_scores(
    latent: Scores,
    concept: Scores,
    present: tuple[Bool[np.ndarray, " queries"], Bool[np.ndarray, " items"]],
    weight: float,
    normalise: Normalisation,
    ranges: Float[np.ndarray, "2 2"],
) -> Scores:
    """`similarity.hybrid` block by block, with the lowest and highest scores over present queries and items.

    For "query" the rows of the scores are the queries.
    """
    bounds = [
        _bounds(scores, present, normalise, known) for scores, known in zip((latent, concept), ranges, strict=True)
    ]

    def block(queries: slice, items: slice) -> np.ndarray:
        a, b = (
            rescale(torch.from_numpy(scores.block(queries, items)), low[queries], high[queries])
            for scores, (low, high) in zip((latent, concept), bounds, strict=True)
        )
        return (weight * a + (1 - weight) * b).numpy()

    return Scores(block, latent.num_queries, latent.num_items)


def compare(loaded: TrainedModel, texts: Encoded, videos: Encoded) -> Float32[np.ndarray, "texts videos"]:
    """The scores by which evaluation ranks videos for texts: hybrid where the model has both spaces."""
    model, evaluation = dual_encoder(loaded), loaded.config.evaluation
    latent, concept = ((texts.vectors.get(name), videos.vectors.get(name)) for name in ("latent", "concept"))
    spaces = pair_scores(latent, concept, model.config.concept_similarity)
    scores = next(iter(spaces.values()))
    if len(spaces) == 2:
        present, ranges = (texts.known, videos.known), model.ranges.float().cpu().numpy()
        how = present, evaluation.latent_weight, evaluation.normalise, ranges
        scores = hybrid_scores(spaces["latent"], spaces["concept"], *how)
    return scores.block(slice(0, len(texts)), slice(0, len(videos)))


def _bounds(
    scores: Scores,
    present: tuple[Bool[np.ndarray, " queries"], Bool[np.ndarray, " items"]],
    normalise: Normalisation,
    known: Float[np.ndarray, " 2"],
) -> tuple[Float[Tensor, "queries 1"], Float[Tensor, "queries 1"]]:
    """Lowest and highest score for rescaling each query's scores."""
    queries, items = present
    if normalise == "train":
        if not known[1] > known[0]:
            raise ConfigError(
                "evaluation.normalise = 'train' needs the ranges of training batches, which this model has not seen; "
                "use 'query' or 'matrix'"
            )
        low, high = (np.full((len(queries), 1), value, np.float32) for value in known)
        return torch.from_numpy(low), torch.from_numpy(high)
    low, high = np.zeros((2, len(queries), 1), np.float32)
    for part in slices(len(queries)):
        kept = scores.block(part, slice(0, len(items)))[:, items]
        if kept.size:
            low[part, 0], high[part, 0] = kept.min(axis=1), kept.max(axis=1)
    if normalise == "matrix" and queries.any():
        low[:], high[:] = low[queries].min(), high[queries].max()
    return torch.from_numpy(low), torch.from_numpy(high)


def slices(length: int) -> list[slice]:
    """Slices of rows, in blocks."""
    return [slice(first, min(first + BLOCK, length)) for first in range(0, length, BLOCK)]


def _scores(text: np.ndarray, video: np.ndarray, compared: Callable[[Tensor, Tensor], Tensor]) -> Scores:
    a, b = torch.from_numpy(text), torch.from_numpy(video)
    return Scores(lambda captions, videos: compared(a[captions], b[videos]).numpy(), len(a), len(b))


def _probabilities(scores: np.ndarray) -> np.ndarray:
    return torch.sigmoid(torch.from_numpy(scores)).numpy()
