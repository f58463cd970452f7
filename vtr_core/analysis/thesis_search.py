"""The search of the thesis's section 5.4.1: curves along one parameter at a time, scale and power never together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from vtr_core.analysis.causality_search import Coordinate, Measure, SearchResult
from vtr_core.analysis.transform_objective import Measured
from vtr_core.analysis.transforms import Transform
from vtr_core.errors import ConfigError

_COARSE = 10
"""First every tenth value of a grid is measured, then all values between the neighbours of the best one."""
_ROUNDS = 10


def _grid(first: int, last: int, per_unit: int) -> tuple[float, ...]:
    return tuple(number / per_unit for number in range(first, last + 1))


GRIDS: Mapping[Coordinate, Sequence[float]] = MappingProxyType(
    {"power": _grid(50, 200, 100), "scale": _grid(1, 100, 10), "shift": _grid(-100, 100, 100)}
)
"""Grids with the digits that Table 5.2 prints: p to 0.01, a to 0.1, b to 0.01; the ranges are ours."""
FLAT = 0.001
"""0.1 points of mAP: an optimum whose gain over the trained value of the parameter is no larger is not taken."""


def thesis_search(measure: Measure, start: Transform, *, flat: float = FLAT) -> SearchResult:
    """The most accurate of two searches: over (a, b) with p as trained, and over (p, b) with a as trained.

    Each search alternates between its two parameters until neither changes. Along a parameter the most accurate value
    of its grid is taken, unless the curve is flat: if it gains at most `flat` over the value that the model was trained
    with, that value is kept, since a lower shift costs causality. The result is never less accurate than the start. A
    cosine has no scale.
    """
    if not flat >= 0:
        raise ConfigError(f"the tolerance of the search is {flat}; it must be 0 or more")
    seen: dict[Transform, Measured] = {}

    def known(transform: Transform) -> Measured:
        if transform not in seen:
            seen[transform] = measure(transform)
        return seen[transform]

    first = known(start)
    partners: tuple[Coordinate, ...] = ("scale", "power") if start.similarity == "jaccard" else ("power",)
    found = [first, *(_with_shift(known, start, partner, flat) for partner in partners)]
    best = max(found, key=_rank)
    return SearchResult(first, best, best, tuple(seen.values()), flat)


def _with_shift(measure: Measure, start: Transform, partner: Coordinate, flat: float) -> Measured:
    """The result of the search over the shift and its partner."""
    at = start
    for _ in range(_ROUNDS):
        before = at
        coordinates: tuple[Coordinate, ...] = (partner, "shift")
        for coordinate in coordinates:
            at = _along(measure, at, coordinate, start, flat).transform
        if at == before:
            break
    return measure(at)


def _along(measure: Measure, at: Transform, coordinate: Coordinate, start: Transform, flat: float) -> Measured:
    """The most accurate value along a coordinate, or the model's own one where the curve is flat."""
    grid = GRIDS[coordinate]

    def most_accurate(places: Sequence[int]) -> int:
        return max(places, key=lambda place: _rank(measure(moved(at, coordinate, grid[place]))))

    coarse = most_accurate(range(0, len(grid), _COARSE))
    near = range(max(0, coarse - _COARSE + 1), min(len(grid), coarse + _COARSE))
    best = measure(moved(at, coordinate, grid[most_accurate(near)]))
    kept = measure(moved(at, coordinate, _value(start, coordinate)))
    return kept if best.accuracy - kept.accuracy <= flat else best


def _rank(one: Measured) -> tuple[float, float]:
    return one.accuracy, one.causality


def moved(at: Transform, coordinate: Coordinate, value: float) -> Transform:
    """A copy of the transform with another value of one parameter."""
    match coordinate:
        case "power":
            return replace(at, power=value)
        case "scale":
            return replace(at, scale=value)
        case "shift":
            return replace(at, shift=value)
        case _:
            assert_never(coordinate)


def _value(at: Transform, coordinate: Coordinate) -> float:
    return {"power": at.power, "scale": at.scale, "shift": at.shift}[coordinate]
