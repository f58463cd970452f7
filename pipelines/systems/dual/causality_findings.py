"""Results of `vtr analyze causality`: effects of transforms, concept detectors; as JSON and metrics."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from pipelines.systems.dual.analysed_set import AnalysedSet, MatchedFigures, matched_figures
from vtr_core.analysis.causality import CausalityCurves, causality_curves, every_set, matched_pairs
from vtr_core.analysis.concept_detectors import (
    Calibration,
    Fate,
    TagPrecision,
    calibration,
    expected_calibration_error,
    fates,
    tag_precision,
)
from vtr_core.analysis.matched_ranking import MatchedRanking
from vtr_core.analysis.transform_search import Coordinate, KeepMap, Measured, coordinates, moved
from vtr_core.analysis.transforms import ConceptSpace, Transform, top_k_similarity
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.similarity import hybrid

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


BINS = 20
FEWEST_VIDEOS = 5
"""Minimum number of training videos with a concept for its detector to be judged."""


@dataclass(frozen=True)
class SideReport:
    """Detection on one side, captions or videos, of a data set; a caption has the labels of its video, as in
    training.
    """

    side: str
    original: Calibration
    improved: Calibration | None
    """Calibration after the transform; None under a cosine, whose transformed scores are no probabilities."""
    presence_error: float
    """Calibration error of the original against binary labels: presence of the concept, not its frequency."""
    tags: TagPrecision


@dataclass(frozen=True)
class SplitReport:
    """Detection on both sides of a data set."""

    name: str
    text: SideReport
    video: SideReport
    num_videos: int


def split_report(
    name: str, data: AnalysedSet, space: ConceptSpace, table: ConceptTable, best: Transform
) -> SplitReport:
    """Detection rates, calibration and average precision of a data set whose videos are in the concept table.

    Probabilities are σ(h) and, improved, σ(a(h − b))^p; precision is the same for both.
    """
    labels = table.soft_labels(data.video_key, space.text.shape[1])
    video = _side("video", space.video, labels, best)
    text = _side("text", space.text, labels[space.caption_video.numpy()], best)
    return SplitReport(name, text, video, len(labels))


def detector_fates(
    reports: Mapping[str, SplitReport], train: str, other: str, names: Sequence[str]
) -> dict[Fate, list[str]]:
    """Concepts by the fate of their video detectors on the splits `train` and `other`; in order of frequency."""
    found: dict[Fate, list[str]] = {"learned": [], "not generalised": [], "failed": [], "too rare": []}
    first, second = reports[train], reports[other]
    judged = fates(first.video.tags, second.video.tags, FEWEST_VIDEOS, first.num_videos)
    for name, fate in zip(names, judged, strict=True):
        found[fate].append(name)
    return found


def _side(
    side: str, scores: Float[Tensor, "samples concepts"], labels: Float[np.ndarray, "samples concepts"], best: Transform
) -> SideReport:
    original = torch.sigmoid(scores).numpy()
    improved = best.apply(scores).numpy() if best.similarity == "jaccard" else None
    present = labels > 0
    return SideReport(
        side=side,
        original=calibration(original, labels),
        improved=None if improved is None else calibration(improved, labels),
        presence_error=expected_calibration_error(original, present.astype(np.float32)),
        tags=tag_precision(scores.numpy(), present),
    )


@dataclass(frozen=True)
class Histogram:
    """Numbers of videos by detection probability in `BINS` equal bins of [0, 1], with and without the concept."""

    present: Int64[np.ndarray, " bins"]
    absent: Int64[np.ndarray, " bins"]


def histogram(data: AnalysedSet, space: ConceptSpace, table: ConceptTable, concept: int) -> Histogram:
    """Figure 5.10: the histogram of a concept's video detector; concept: its index in the model."""
    labels = table.soft_labels(data.video_key, space.text.shape[1])[:, concept]
    detected = torch.sigmoid(space.video[:, concept]).numpy()
    found = [np.histogram(detected[kept], BINS, (0.0, 1.0))[0] for kept in (labels > 0, labels == 0)]
    return Histogram(*(counts.astype(np.int64) for counts in found))


_SEARCHED = ("kind", "score", "tolerance", "keep_map", "enough", "captions", "videos")


@dataclass(frozen=True)
class Wider:
    """Results of the search over all parameters together, besides the thesis's search."""

    accurate: Measured | None = None
    """As accurate as can be, within the tolerance."""
    causal: Measured | None = None
    """As causal as can be without less accuracy than as trained, on the mean of the validation data."""
    kept: Measured | None = None
    """The same where the 95 % interval of the difference in accuracy does not go below zero."""
    enough: Measured | None = None
    """As accurate as can be with a C@10 of 72 %."""

    def results(self) -> dict[str, Measured]:
        """What was searched, by name."""
        found = {"joint": self.accurate, "causal": self.causal, "kept": self.kept, "enough": self.enough}
        return {name: one for name, one in found.items() if one is not None}


@dataclass(frozen=True)
class SearchFindings:
    """The search on the validation data; accuracy is mean mAP and causality C@10, both in [0, 1]."""

    kind: str
    score: str
    tolerance: float
    start: Measured
    best: Measured
    front: Sequence[Measured]
    measured: Sequence[Measured]
    captions: int
    videos: int
    seconds: float
    keep_map: KeepMap = "interval"
    enough: float = 1.0
    wider: Wider = Wider()

    def results(self) -> dict[str, Measured]:
        """As trained and as found, by name."""
        return {"original": self.start, "improved": self.best, **self.wider.results()}

    def transforms(self) -> dict[str, Transform]:
        """The transforms of `results`."""
        return {name: one.transform for name, one in self.results().items()}


@dataclass(frozen=True)
class DetectorFindings:
    """The concept detectors on every split, and the fate of each concept where training data were given."""

    splits: Sequence[SplitReport]
    fates: Mapping[Fate, Sequence[str]] | None
    histograms: Mapping[str, Mapping[str, Histogram]] = field(default_factory=dict)
    """For the most frequent concept of each fate, by split."""


@dataclass(frozen=True)
class Findings:
    """All results; `curves` and `top_k` by "original" and "improved"."""

    checkpoint: str
    test: str
    search: SearchFindings
    inferences: Sequence[Inference]
    curves: Mapping[str, Mapping[str, CausalityCurves]]
    top_k: Mapping[str, Mapping[int, float]]
    detectors: DetectorFindings | None
    left_out: Mapping[str, int]
    sweeps: Mapping[Coordinate, Mapping[float, CausalityCurves]]
    """Curves over the matched pairs, by parameter and value."""
    top_k_sweep: Mapping[float, Mapping[int, float]]
    """For the first parameter that has an effect."""

    def metrics(self) -> dict[str, float]:
        """The metrics of the test data by name, `test/<set>/concepts/improved/c10` …, in percent."""
        values: dict[str, float] = {}
        for one in self.inferences:
            prefix = f"test/{self.test}/{one.name.replace(', ', '/')}"
            figures = one.figures.values()
            values.update({f"{prefix}/{name}": figures[name] for name in ("map", "sum_r", "t2v_map", "v2t_map")})
            values.update({f"{prefix}/c{k}": 100 * mean for k, (mean, _) in one.causality.items()})
        return values

    def to_json(self) -> dict[str, Any]:
        """All results as JSON; undefined values are null."""
        return {
            "checkpoint": self.checkpoint,
            "test": self.test,
            "left_out": dict(self.left_out),
            "search": {
                **{name: getattr(self.search, name) for name in _SEARCHED},
                "seconds": round(self.search.seconds, 3),
                "start": asdict(self.search.start),
                "best": asdict(self.search.best),
                "wider": asdict(self.search.wider),
                "front": [asdict(one) for one in self.search.front],
                "measured": [asdict(one) for one in self.search.measured],
            },
            "inferences": [
                {
                    "name": one.name,
                    "transform": asdict(one.transform),
                    "concept_weight": one.concept_weight,
                    "figures": one.figures.values(),
                    "causality": {str(k): {"mean": mean, "std": std} for k, (mean, std) in one.causality.items()},
                }
                for one in self.inferences
            ],
            "curves": {
                which: {name: _curve(curves) for name, curves in sets.items()} for which, sets in self.curves.items()
            },
            "top_k": {which: {str(k): value for k, value in found.items()} for which, found in self.top_k.items()},
            "sweeps": {
                name: {f"{value:g}": _curve(curves) for value, curves in values.items()}
                for name, values in self.sweeps.items()
            },
            "top_k_sweep": {
                f"{value:g}": {str(k): found for k, found in by_k.items()} for value, by_k in self.top_k_sweep.items()
            },
            "detectors": None if self.detectors is None else _detectors(self.detectors),
        }


def _curve(curves: CausalityCurves) -> dict[str, Any]:
    values = asdict(curves)
    return {name: value if name == "num_pairs" else value.tolist() for name, value in values.items()}


def _detectors(found: DetectorFindings) -> dict[str, Any]:
    return {
        "splits": {
            split.name: {side.side: _findings_side(side) for side in (split.text, split.video)}
            for split in found.splits
        },
        "histograms": {
            concept: {
                split: {"present": one.present.tolist(), "absent": one.absent.tolist()}
                for split, one in by_split.items()
            }
            for concept, by_split in found.histograms.items()
        },
        "fates": None if found.fates is None else {fate: list(names) for fate, names in found.fates.items()},
    }


def _findings_side(side: SideReport) -> dict[str, Any]:
    precision = [None if math.isnan(value) else value for value in side.tags.precision.tolist()]
    mean, chance = side.tags.mean, side.tags.chance
    return {
        "original": asdict(side.original),
        "improved": None if side.improved is None else asdict(side.improved),
        "presence_error": side.presence_error,
        "mean_average_precision": None if math.isnan(mean) else mean,
        "chance": None if math.isnan(chance) else chance,
        "precision": precision,
        "prevalence": side.tags.prevalence.tolist(),
    }
