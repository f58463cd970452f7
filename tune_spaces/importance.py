"""Importance of a setting: the share of the variance between trials that it explains by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from vtr_core.config.domains import Choice, Domain, Value, Variant
from vtr_core.run.space import Point, Space

FEWEST = 4
"""Minimum number of trials for an importance."""


@dataclass(frozen=True)
class Importance:
    """The importance of one setting."""

    name: str
    share: float
    """Explained share of the variance, in [0, 1]."""
    num_trials: int
    """Number of trials in which the setting is active."""


def importances(space: Space, points: Sequence[Point], objectives: Sequence[float]) -> list[Importance]:
    """The importance of every setting, the largest first.

    Objectives are replaced by their ranks among the trials that have the setting (ties share the mean rank). For a
    number the importance is Spearman's ρ² between setting and objective, for a choice the correlation ratio η² =
    variance of the choices' mean ranks, weighted by trials / variance of all ranks. Joint effects are not measured, and
    η² of many choices is large by chance. Settings with fewer than 4 trials or a single value are left out.
    """
    found = []
    for name, parameter in space.parameters.items():
        pairs = [(point[name], value) for point, value in zip(points, objectives, strict=True) if name in point]
        if len(pairs) >= FEWEST and len({value for value, _ in pairs}) > 1:
            found.append(Importance(name, _share(parameter.domain, pairs), len(pairs)))
    return sorted(found, key=lambda one: -one.share)


def _share(domain: Domain, pairs: Sequence[tuple[Value, float]]) -> float:
    ranks = rankdata([objective for _, objective in pairs])
    if np.ptp(ranks) == 0:
        return 0.0
    if isinstance(domain, (Choice, Variant)):
        return _correlation_ratio([str(value) for value, _ in pairs], ranks)
    settings = rankdata([float(value or 0) for value, _ in pairs])
    return float(np.corrcoef(settings, ranks)[0, 1] ** 2)


def _correlation_ratio(groups: Sequence[str], values: np.ndarray) -> float:
    labels = np.array(groups)
    means = np.array([values[labels == label].mean() for label in groups])
    return float(means.var() / values.var())


def pareto_front(objectives: Sequence[float], costs: Sequence[float]) -> list[int]:
    """Indices of the Pareto-optimal trials, ascending by cost: no other trial has a larger objective at no larger cost,
    or an equal one at a smaller cost. Of equal trials all are included.
    """
    front = [
        i
        for i in range(len(objectives))
        if not any(
            objectives[j] >= objectives[i]
            and costs[j] <= costs[i]
            and (objectives[j] > objectives[i] or costs[j] < costs[i])
            for j in range(len(objectives))
        )
    ]
    return sorted(front, key=lambda i: (costs[i], objectives[i]))
