"""A row's search: every trial once, the one that finds most on validation data with every seed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Figures = Mapping[str, tuple[float, ...]]
"""By metric, those of the seeds."""


@dataclass(frozen=True)
class Searched:
    """A row after its search: what each trial found on validation data, which one was best, its seeds' test figures."""

    trials: Mapping[str, float]
    best: str
    figures: Figures


def search(trials: Iterable[str], chosen_by: str, seeds: int, train: Callable[[str, int], Figures]) -> Searched:
    """All trials with seed 0, and the best one with every seed.

    chosen_by: the metric, of validation data. train: the figures of a trial's trainings with seeds 0, 1, …, as many as
    it is told; it reuses finished ones.
    """
    values = {trial: train(trial, 1)[chosen_by][0] for trial in trials}
    best = max(values, key=lambda trial: values[trial])
    return Searched(values, best, train(best, seeds))
