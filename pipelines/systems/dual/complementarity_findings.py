"""Results of `vtr analyze complementarity`, the thesis's chapter 4: tables, JSON and MLflow metrics."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from pipelines.systems.dual.analysed_set import AnalysedSet, matched_figures
from vtr_core.analysis.correlation import canonical_correlations
from vtr_core.analysis.effective_dimension import component_counts, principal_components, truncated_cosines
from vtr_core.analysis.ensembles import Difference, Ensemble, StableRegion, difference, stable_region
from vtr_core.analysis.matched_ranking import MatchedRanking
from vtr_core.analysis.transforms import ConceptSpace
from vtr_core.config.caption_text import ConceptSimilarity
from vtr_core.errors import DatasetError
from vtr_core.similarity import hybrid


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


STUDIED = ("map", "sum_r", "t2v_r1", "v2t_r1")
"""Metrics of a dimension study."""
TESTED = ("map", "sum_r")
FEWEST_DIMENSIONS = 3


@dataclass(frozen=True)
class Run:
    """One training, or two that are fused; `figures`: metrics by way of scoring, "latent", "concept" or "two
    spaces".
    """

    way: str
    coupling: str
    dims: tuple[int | None, int | None]
    checkpoints: tuple[str, ...]
    figures: Mapping[str, Mapping[str, float]]
    components: ComponentCurve | None
    correlations: Sequence[CorrelationCurve]
    study: str = ""
    """What tells the dimension study of a single space from others: settings other than the dimension."""


@dataclass(frozen=True)
class Gain:
    """What two spaces together have over the better one of them, for every run of a way of training, in percent.

    `correlation`: the mean canonical correlation of the two spaces on held-out captions and videos, of each run.
    """

    way: str
    better: Ensemble
    """The better single space by mean mAP of each run."""
    gained: Ensemble
    correlation: tuple[float, ...]


@dataclass(frozen=True)
class DimensionStudy:
    """The metrics of trainings of a single space in several dimensions, in percent, and the stable region of mAP."""

    space: str
    settings: str
    """What its trainings share and those of another study of the space do not; "" where there is one study."""
    dims: tuple[int, ...]
    map: tuple[float, ...]
    sum_r: tuple[float, ...]
    t2v_r1: tuple[float, ...]
    v2t_r1: tuple[float, ...]
    stable: StableRegion


@dataclass(frozen=True)
class Findings:
    """All runs; ensembles, tests and dimension studies are derived from them."""

    data: str
    runs: Sequence[Run]

    def ensembles(self) -> list[tuple[str, Ensemble]]:
        """(way of scoring, runs of one way of training): single spaces first, in the order of the runs."""
        found = []
        for scoring in ("latent", "concept", "two spaces"):
            for way in dict.fromkeys(run.way for run in self.runs if scoring in run.figures):
                scored = [run.figures[scoring] for run in self.runs if run.way == way and scoring in run.figures]
                found.append((scoring, Ensemble(way, {name: [one[name] for one in scored] for name in scored[0]})))
        return found

    def differences(self) -> Iterator[tuple[str, str, str, str, Difference]]:
        """(scoring, metric, first way, second way, test) of every two ensembles with the same scoring."""
        for (scoring, first), (other, second) in itertools.combinations(self.ensembles(), 2):
            for figure in TESTED:
                test = difference(first.figures[figure], second.figures[figure])
                if scoring == other and test is not None:
                    yield scoring, figure, first.name, second.name, test

    def gains(self) -> list[Gain]:
        """The complementarity of the two spaces of every way of training, in the order of the runs."""
        found = []
        for way in dict.fromkeys(run.way for run in self.runs if "two spaces" in run.figures):
            runs = [run for run in self.runs if run.way == way and "two spaces" in run.figures]
            single = [max(self._single(run), key=lambda one: one["map"]) for run in runs]
            gained = {
                name: [run.figures["two spaces"][name] - one[name] for run, one in zip(runs, single, strict=True)]
                for name in TESTED
            }
            correlation = tuple(fmean(float(curve.held_out.mean()) for curve in run.correlations) for run in runs)
            better = {name: [one[name] for one in single] for name in TESTED}
            found.append(Gain(way, Ensemble(way, better), Ensemble(way, gained), correlation))
        return found

    def _single(self, run: Run) -> list[Mapping[str, float]]:
        """The metrics of the two spaces of a run, each alone; of a fusion those of the trainings that it adds."""
        parts = (
            [run]
            if len(run.checkpoints) == 1
            else [one for one in self.runs for checkpoint in run.checkpoints if one.checkpoints == (checkpoint,)]
        )
        return [values for part in parts for scoring, values in part.figures.items() if scoring != "two spaces"]

    def dimension_studies(self) -> list[DimensionStudy]:
        """Dimension studies of the spaces that were trained alone in at least three dimensions, and alike otherwise."""
        found = []
        for place, space in enumerate(("latent", "concept")):
            alone = [run for run in self.runs if run.coupling == space]
            for study in dict.fromkeys(run.study for run in alone):
                runs = [run for run in alone if run.study == study]
                dims = tuple(run.dims[place] or 0 for run in runs)
                if len(set(dims)) >= FEWEST_DIMENSIONS:
                    values = {name: tuple(run.figures[space][name] for run in runs) for name in STUDIED}
                    stable = stable_region(dims, values["map"])
                    found.append(DimensionStudy(space, study, dims, **values, stable=stable))
        return found

    def metrics(self) -> dict[str, float]:
        """The means over runs by metric name; names of ways have `_` for all but letters and digits."""
        values = {}
        for scoring, ensemble in self.ensembles():
            way = "".join(letter if letter.isalnum() else "_" for letter in ensemble.name)
            for figure in TESTED:
                values[f"test/{self.data}/{scoring.replace(' ', '_')}/{way}/{figure}"] = ensemble.spread(figure).mean
        return values

    def to_json(self) -> dict[str, Any]:
        """All results as JSON; undefined values are null."""
        return {
            "data": self.data,
            "runs": [_run(run) for run in self.runs],
            "ensembles": [
                {
                    "scoring": scoring,
                    "way": one.name,
                    "figures": {name: _finite(asdict(one.spread(name))) for name in one.figures},
                }
                for scoring, one in self.ensembles()
            ],
            "differences": [
                {"scoring": scoring, "figure": figure, "first": first, "second": second, **_finite(asdict(test))}
                for scoring, figure, first, second, test in self.differences()
            ],
            "gains": [
                {
                    "way": one.way,
                    "correlation": list(one.correlation),
                    **{
                        name: {
                            "better": _finite(asdict(one.better.spread(name))),
                            "gained": _finite(asdict(one.gained.spread(name))),
                        }
                        for name in TESTED
                    },
                }
                for one in self.gains()
            ],
            "dimension_studies": [
                {**asdict(study), "stable": {**asdict(study.stable), "figure": _finite(asdict(study.stable.figure))}}
                for study in self.dimension_studies()
            ],
        }


def _run(run: Run) -> dict[str, Any]:
    components = run.components
    return {
        "way": run.way,
        "coupling": run.coupling,
        "dims": run.dims,
        "checkpoints": run.checkpoints,
        "figures": {scoring: dict(values) for scoring, values in run.figures.items()},
        "components": None
        if components is None
        else {
            "dim": components.dim,
            "normalised_variances": components.normalised_variances.tolist(),
            "map": {str(kept): value for kept, value in components.precision.items()},
        },
        "correlations": [
            {**asdict(curve), "fitted": curve.fitted.tolist(), "held_out": curve.held_out.tolist()}
            for curve in run.correlations
        ],
    }


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
