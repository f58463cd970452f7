"""Effect of a transform of concept scores on accuracy and causality on a data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch

from vtr_core.analysis.causality import CausalityCurves, causality_curves
from vtr_core.analysis.causality_search import Coordinate, coordinates
from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.matched_ranking import MatchedRanking
from vtr_core.analysis.pair_sets import every_set, matched_pairs
from vtr_core.analysis.thesis_search import moved
from vtr_core.analysis.top_k import top_k_similarity
from vtr_core.analysis.transforms import Transform
from vtr_core.similarity import hybrid
from pipelines.systems.dual.analyze.analysed_set import AnalysedSet
from pipelines.systems.dual.analyze.matched_figures import MatchedFigures, matched_figures

SWEPT: Mapping[Coordinate, tuple[float, ...]] = MappingProxyType(
    {"scale": (0.5, 1.0, 2.0, 4.0, 8.0), "power": (0.5, 1.0, 1.5, 2.0, 3.0), "shift": (-2.0, -1.0, 0.0, 1.0, 2.0)}
)
"""Values of the sweeps over each parameter; 1, 1 and 0 are the model as trained."""
SHOWN_KS = (10, 30)
"""k of the reported C@k: tags that a person takes in at once, and the maximum number of tags of a caption or video."""


@dataclass(frozen=True)
class Inference:
    """Metrics of one way of scoring a data set: concepts alone or with the latent space, original or transformed."""

    name: str
    transform: Transform
    concept_weight: float
    figures: MatchedFigures
    causality: Mapping[int, tuple[float, float]]
    """C@k and its standard deviation over the matched pairs, by k."""


def inferences(
    data: AnalysedSet, space: ConceptSpace, transforms: Mapping[str, Transform], latent_weight: float
) -> list[Inference]:
    """The rows of the thesis's Table 5.3: the hybrid where there is one, and concepts alone, with every transform.

    Hybrid scores are min-max scaled over all pairs, because ranges from training do not hold for transformed scores.
    """
    found = []
    for name, transform in transforms.items():
        scores = space.scores(transform)
        curves = matched_curves(space, transform)
        ways = [("concepts", scores, 1.0)]
        if data.latent_scores is not None:
            both = hybrid(data.latent_scores, scores, latent_weight, "matrix")
            ways.insert(0, ("hybrid", both, 1 - latent_weight))
        for way, matrix, weight in ways:
            causality = {k: (weight * curves.at(k)[0], weight * curves.at(k)[1]) for k in SHOWN_KS}
            figures = matched_figures(matrix, space.caption_video)
            found.append(Inference(f"{way}, {name}", transform, weight, figures, causality))
    return sorted(found, key=lambda one: one.concept_weight)


def matched_curves(space: ConceptSpace, transform: Transform) -> CausalityCurves:
    """The causality curves over the matched pairs."""
    text, video = transform.apply(space.text), transform.apply(space.video)
    return causality_curves(video, text, matched_pairs(space.caption_video), space.similarity)


def swept(space: ConceptSpace) -> dict[Coordinate, dict[float, Transform]]:
    """The transforms of the sweeps over each parameter, varied alone; a scale has no effect on a cosine."""
    return {
        name: {value: moved(space.identity, name, value) for value in SWEPT[name]}
        for name in coordinates(space.similarity)
    }


def swept_curves(space: ConceptSpace) -> dict[Coordinate, dict[float, CausalityCurves]]:
    """Figure 5.4: the causality curves over the matched pairs for several values of each parameter."""
    return {
        name: {value: matched_curves(space, transform) for value, transform in values.items()}
        for name, values in swept(space).items()
    }


def swept_top_k(space: ConceptSpace, ks: Sequence[int], captions: int, seed: int) -> dict[float, dict[int, float]]:
    """Figure 5.6: `top_k_precision` for several values of the scale, or of the power where a scale has no effect."""
    values = next(iter(swept(space).values()))
    return {value: top_k_precision(space, transform, ks, captions, seed) for value, transform in values.items()}


def curves_by_set(space: ConceptSpace, transform: Transform, seed: int) -> dict[str, CausalityCurves]:
    """Figure 5.2: the causality curves over matched, retrieved and random pairs, for concepts alone."""
    text, video = transform.apply(space.text), transform.apply(space.video)
    sets = every_set(space.scores(transform), space.caption_video, seed)
    return {pairs.name: causality_curves(video, text, pairs, space.similarity) for pairs in sets}


def top_k_precision(
    space: ConceptSpace, transform: Transform, ks: Sequence[int], captions: int, seed: int
) -> dict[int, float]:
    """Figures 5.3 and 5.6: mean mAP in [0, 1] when only the k strongest concepts of each pair are scored.

    Over at most `captions` captions, spread evenly over the videos, because the concepts of every pair are sorted; all
    videos are kept.
    """
    per_video = max(1, captions // len(space.video))
    part = space.few_captions(per_video, seed)
    if len(part.text) > captions:
        kept = torch.randperm(len(part.text), generator=torch.Generator().manual_seed(seed))[:captions].sort().values
        part = ConceptSpace(part.text[kept], part.video, part.caption_video[kept], part.similarity)
    text, video = transform.apply(part.text), transform.apply(part.video)
    ranking = MatchedRanking(part.caption_video, len(part.video))
    found = top_k_similarity(text, video, ks, part.similarity)
    return {k: ranking.precision(scores).mean for k, scores in found.items()}
