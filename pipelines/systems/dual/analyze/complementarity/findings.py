"""Results of `vtr analyze complementarity`, as tables, JSON and MLflow metrics."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from vtr_core.analysis.dimensions import StableRegion, stable_region
from vtr_core.analysis.ensembles import Difference, Ensemble, difference
from pipelines.systems.dual.analyze.complementarity.report import ComponentCurve, CorrelationCurve

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
