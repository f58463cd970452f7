"""Coordinate-wise direct search for a transform: first for accuracy, then for causality."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from vtr_core.analysis.transform_objective import Measured
from vtr_core.analysis.transforms import Transform
from vtr_core.config.concept_similarity import Comparison
from vtr_core.errors import ConfigError

Coordinate: TypeAlias = Literal["power", "scale", "shift"]
Measure: TypeAlias = Callable[[Transform], Measured]
STEPS = (-4, -3, -2, -1, 0, 1, 2, 3, 4)
"""Values tried along a coordinate, in steps from the current one."""
FIRST_FACTOR, FIRST_SHIFT = 2**0.75, 0.5
"""The first step: power and scale are multiplied (up to 8 × and down to 1/8), the shift moves by up to 2."""
LIMITS: dict[Coordinate, tuple[float, float]] = {"power": (1 / 8, 8.0), "scale": (1 / 16, 64.0), "shift": (-16.0, 16.0)}
"""Bounds of the search: beyond them nearly all probabilities are 0 or 1."""
KeepMap: TypeAlias = Literal["interval", "mean"]
"""When a transform is no less accurate than the start: by the lower end of the interval of the difference, or by the
difference itself.
"""
DEFAULT_TOLERANCE = 0.001
"""Accuracy that may be given up for causality: 0.1 points of mAP."""


@dataclass(frozen=True)
class SearchResult:
    """The result of the search; `accurate` is the optimum of the first phase, `measured` all evaluated transforms."""

    start: Measured
    accurate: Measured
    best: Measured
    measured: tuple[Measured, ...]
    tolerance: float


def coordinates(similarity: Comparison) -> tuple[Coordinate, ...]:
    """The searched coordinates: a scale has no effect on a cosine."""
    match similarity:
        case "jaccard":
            return ("scale", "shift", "power")
        case "cosine":
            return ("power", "shift")
        case "dot":
            return ()
        case _:
            assert_never(similarity)


def coordinate_search(
    measure: Measure,
    start: Transform,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    refinements: int = 4,
    keep_map: KeepMap = "mean",
    enough: float = math.inf,
    also: Sequence[Measured] = (),
) -> SearchResult:
    """The direct search of the thesis's section 5.3.1: one coordinate at a time, in rounds, with smaller steps.

    First for accuracy: along each coordinate the most accurate of the values in `STEPS` is taken, of equal ones the one
    with the higher causality; when a round over all coordinates changes nothing the step is halved, `refinements`
    times. Then for causality, in the same way from there: the value with the highest causality of those that
    `allowed` lets through; more causality than `enough` counts no more, and of those that have it the most accurate one
    is taken. So on the data searched on the result is never less accurate than the start, however often
    the tolerance is used. The search is local: it may end in a local optimum; `also`, transforms that
    are measured already, are places from which its second phase may begin.
    """
    if not tolerance >= 0:
        raise ConfigError(f"the tolerance of the search is {tolerance}; it must be 0 or more")
    seen = {one.transform: one for one in also}

    def known(transform: Transform) -> Measured:
        if transform not in seen:
            seen[transform] = measure(transform)
        return seen[transform]

    def rank(found: Measured) -> tuple[float, float]:
        may = allowed(found, first, seen.values(), tolerance, keep_map)
        return (min(found.causality, enough), found.accuracy) if may else (-1.0, found.accuracy)

    first = known(start)
    accurate = _descend(known, first, refinements, lambda found: (found.accuracy, found.causality))
    _descend(known, max(seen.values(), key=rank), refinements, rank)
    return SearchResult(first, accurate, max(seen.values(), key=rank), tuple(seen.values()), tolerance)


def allowed(one: Measured, start: Measured, seen: Collection[Measured], tolerance: float, keep_map: KeepMap) -> bool:
    """Whether a transform may be taken for its causality.

    It is kept where it is no less accurate than the start (`keep_map`), which is always kept itself, and its accuracy
    is at most `tolerance` below that of the most accurate one that is kept. Of the many transforms of a search some are
    as accurate as the start by luck: their mean difference on other data is below zero; the lower end of its interval
    leaves room for that.
    """

    def kept(other: Measured) -> bool:
        enough = keep_map == "mean" or other.gain_low >= 0 or other == start
        return enough and other.accuracy >= start.accuracy

    return kept(one) and one.accuracy >= max(other.accuracy for other in seen if kept(other)) - tolerance


def _descend(
    measure: Measure, current: Measured, refinements: int, rank: Callable[[Measured], tuple[float, float]]
) -> Measured:
    """The best transform by `rank` that coordinate moves from `current` reach."""
    for refinement in range(refinements + 1):
        moved = True
        while moved:
            moved = False
            for coordinate in coordinates(current.transform.similarity):
                found = [measure(one) for one in _line(current.transform, coordinate, 0.5**refinement)]
                best = max(found, key=rank)
                if rank(best) > rank(current):
                    current, moved = best, True
    return current


def _line(at: Transform, coordinate: Coordinate, step: float) -> Iterator[Transform]:
    """The transforms along one coordinate, with steps of `step` times the first ones."""
    limits = LIMITS[coordinate]
    for count in STEPS:
        factor = FIRST_FACTOR ** (count * step)
        match coordinate:
            case "power":
                yield replace(at, power=_within(limits, at.power * factor))
            case "scale":
                yield replace(at, scale=_within(limits, at.scale * factor))
            case "shift":
                yield replace(at, shift=_within(limits, at.shift + FIRST_SHIFT * count * step))
            case _:
                assert_never(coordinate)


def _within(limits: tuple[float, float], value: float) -> float:
    """The value clipped to the limits; rounded, so that a step and its reverse lead to the same transform."""
    return round(min(limits[1], max(limits[0], value)), 6)


def pareto_front(measured: Sequence[Measured]) -> list[Measured]:
    """The transforms that no other one beats in accuracy and causality at once, the most accurate first.

    Of several with the same accuracy and the same causality the first one stays.
    """
    front: list[Measured] = []
    for one in sorted(measured, key=lambda found: (-found.accuracy, -found.causality)):
        if not front or one.causality > front[-1].causality:
            front.append(one)
    return front
