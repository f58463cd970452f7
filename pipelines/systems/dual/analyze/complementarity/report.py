"""Complementarity of the two spaces of dual encoders (thesis, chapter 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from vtr_core.analysis.components import component_counts, principal_components, truncated_cosines
from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.correlation import canonical_correlations
from vtr_core.analysis.matched_ranking import MatchedRanking
from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.errors import DatasetError
from vtr_core.similarity import hybrid
from pipelines.systems.dual.analyze.analysed_set import AnalysedSet
from pipelines.systems.dual.analyze.matched_figures import matched_figures


@dataclass(frozen=True)
class ComponentCurve:
    """Figure 4.4: normalised variances of a latent space, and mean mAP in [0, 1] after keeping the first components."""

    dim: int
    normalised_variances: Float64[np.ndarray, " dim"]
    precision: Mapping[int, float]


@dataclass(frozen=True)
class CorrelationCurve:
    """Figure 4.5 for captions or videos: canonical correlations on the fitted and on held-out samples."""

    side: str
    fitted: Float64[np.ndarray, " pairs"]
    held_out: Float64[np.ndarray, " pairs"]
    samples: int
    dims: tuple[int, int]


SpaceFigures: TypeAlias = dict[str, dict[str, float]]
"""The metrics of one training, by name, for each way of scoring: "latent", "concept", "two spaces"."""


def figures_by_space(data: AnalysedSet, similarity: ConceptSimilarity, latent_weight: float) -> SpaceFigures:
    """The metrics of each space that a model has, and of both by the hybrid score (min-max over all pairs)."""
    scores: dict[str, Tensor] = {}
    if data.latent_scores is not None:
        scores["latent"] = data.latent_scores
    if data.concept_text is not None:
        space = data.concept_space(similarity)
        scores["concept"] = space.scores(space.identity)
    if len(scores) == 2:
        scores["two spaces"] = hybrid(scores["latent"], scores["concept"], latent_weight, "matrix")
    return {name: matched_figures(matrix, data.caption_video).values() for name, matrix in scores.items()}


def fused_figures(
    first: AnalysedSet, second: AnalysedSet, first_weight: float = 0.5, similarity: ConceptSimilarity = "jaccard"
) -> dict[str, float]:
    """The metrics of the fusion of two separately trained spaces, on captions known to both.

    A model's space is its latent one, or, where it has none, its concept space under `similarity`.
    """
    a, b = first.with_captions_of(second), second.with_captions_of(first)
    scores = [_scores(one, similarity) for one in (a, b)]
    return matched_figures(hybrid(scores[0], scores[1], first_weight, "matrix"), a.caption_video).values()


def fused_correlations(
    first: AnalysedSet,
    second: AnalysedSet,
    similarity: ConceptSimilarity,
    *,
    ridge: float,
    most: int,
    top: int,
    seed: int,
) -> list[CorrelationCurve]:
    """Canonical correlations between the spaces that `fused_figures` fuses."""
    a, b = first.with_captions_of(second), second.with_captions_of(first)
    spaces = [_vectors(one, similarity) for one in (a, b)]
    return correlation_curves(spaces[0], spaces[1], a.caption_video, ridge=ridge, most=most, top=top, seed=seed)


def _scores(data: AnalysedSet, similarity: ConceptSimilarity) -> Float[Tensor, "captions videos"]:
    if data.latent_scores is not None:
        return data.latent_scores
    space = data.concept_space(similarity)
    return space.scores(space.identity)


def _vectors(data: AnalysedSet, similarity: ConceptSimilarity) -> tuple[Tensor, Tensor]:
    if data.latent_text is not None and data.latent_video is not None:
        return data.latent_text, data.latent_video
    return compared_vectors(data.concept_space(similarity))


def component_curve(data: AnalysedSet) -> ComponentCurve:
    """Principal components of the latent space, over captions and videos together with equal weight.

    Every caption is one sample; every video is repeated an integer number of times, so that both sides weigh about the
    same.
    """
    if data.latent_text is None or data.latent_video is None:
        raise DatasetError("principal components are those of a latent space; the model has none")
    repeats = max(1, round(len(data.latent_text) / len(data.latent_video)))
    components = principal_components(torch.cat([data.latent_text, data.latent_video.repeat(repeats, 1)]))
    ranking = MatchedRanking(data.caption_video, len(data.video_key))
    dim = data.latent_text.shape[1]
    cosines = truncated_cosines(data.latent_text, data.latent_video, components, component_counts(dim))
    precision = {kept: ranking.precision(scores).mean for kept, scores in cosines}
    return ComponentCurve(dim, components.normalised_variances.numpy(), precision)


def compared_vectors(space: ConceptSpace) -> tuple[Tensor, Tensor]:
    """The caption and video vectors that the similarity compares: probabilities or scores."""
    return space.identity.apply(space.text), space.identity.apply(space.video)


def correlation_curves(
    first: tuple[Float[Tensor, "captions dim"], Float[Tensor, "videos dim"]],
    second: tuple[Float[Tensor, "captions other"], Float[Tensor, "videos other"]],
    caption_video: Int64[Tensor, " captions"],
    *,
    ridge: float,
    most: int,
    top: int,
    seed: int,
) -> list[CorrelationCurve]:
    """Canonical correlations between two spaces of the same captions and videos, for captions and videos separately.

    Fitted on half of the videos, drawn with `seed`, and all their captions; the others are held out, so that no video
    is on both sides; at most `most` samples of each. The `top` pairs: no more than either space has dimensions, and
    one fewer than it has fitted samples.
    """
    num_videos = len(first[1])
    if num_videos < 4:
        raise DatasetError(
            f"canonical correlations with held-out videos need at least 4 videos; there are {num_videos}"
        )
    order = torch.randperm(num_videos, generator=torch.Generator().manual_seed(seed))
    fitted_videos = torch.zeros(num_videos, dtype=torch.bool)
    fitted_videos[order[: num_videos // 2]] = True
    masks = {"captions": fitted_videos[caption_video], "videos": fitted_videos}
    found = []
    for place, (side, fitted) in enumerate(masks.items()):
        fit, rest = _sample(fitted, most, seed), _sample(~fitted, most, seed)
        a, b = first[place], second[place]
        pairs = canonical_correlations(a[fit], b[fit], ridge=ridge, top=top)
        held_out = pairs.correlations(a[rest], b[rest])
        found.append(CorrelationCurve(side, pairs.fitted.numpy(), held_out.numpy(), len(fit), (a.shape[1], b.shape[1])))
    return found


def _sample(mask: Tensor, most: int, seed: int) -> Int64[Tensor, " kept"]:
    places = mask.nonzero().squeeze(1)
    order = torch.randperm(len(places), generator=torch.Generator().manual_seed(seed))
    return places[order[:most].sort().values]
