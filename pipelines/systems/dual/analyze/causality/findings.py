"""Results of `vtr analyze causality`, as tables, JSON and MLflow metrics."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from vtr_core.analysis.calibration import Fate
from vtr_core.analysis.causality import CausalityCurves
from vtr_core.analysis.causality_search import Coordinate, KeepMap
from vtr_core.analysis.transform_objective import Measured
from vtr_core.analysis.transforms import Transform
from pipelines.systems.dual.analyze.causality.detectors import Histogram, SideReport, SplitReport
from pipelines.systems.dual.analyze.causality.report import Inference

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
            split.name: {side.side: _side(side) for side in (split.text, split.video)} for split in found.splits
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


def _side(side: SideReport) -> dict[str, Any]:
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
