"""The same search for every row of a comparison: each trial once, and the best on validation data with every seed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Train = Callable[[str, int], Mapping[str, Sequence[float]]]
"""Trains a trial with so many seeds, or takes the trainings that are finished; returns their metrics by name."""


@dataclass(frozen=True)
class Searched:
    """A row after its search: what each trial found on validation data, which one was best, its seeds' figures."""

    trials: Mapping[str, float]
    best: str
    figures: Mapping[str, Sequence[float]]


def search(trials: Iterable[str], train: Train, metric: str, seeds: int) -> Searched:
    """All trials with the first seed, and the one with the greatest `metric` with every seed, one after the other."""
    found = {trial: train(trial, 1)[metric][0] for trial in trials}
    best = max(found, key=lambda trial: found[trial])
    return Searched(found, best, [train(best, count) for count in range(1, seeds + 1)][-1])
