"""Search for a transform: its accuracy and causality; by coordinates, and that of the thesis (5.4.1)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from vtr_core.analysis.causality import causality_at_k
from vtr_core.analysis.transforms import ConceptSpace, Transform
from vtr_core.config.data_sets import Comparison

SEARCHED_K = 10
"""Number of tags that a person takes in at once."""


@dataclass(frozen=True)
class Measured:
    """A transform with mean(mAP text->video, mAP video->text) and C@k over the matched pairs, both in [0, 1]."""

    transform: Transform
    accuracy: float
    causality: float


class TransformObjective:
    """Transform → `Measured` on one data set, by concept scores alone; each transform is measured once.

    accuracy: mean(mAP text->video, mAP video->text) under a transform, as the model is evaluated.
    """

    def __init__(self, space: ConceptSpace, accuracy: Callable[[Transform], float]) -> None:
        self._space, self._accuracy = space, accuracy
        self._known: dict[Transform, Measured] = {}

    @property
    def identity(self) -> Transform:
        """Scores as the model was trained."""
        return self._space.identity

    @property
    def measured(self) -> tuple[Measured, ...]:
        """All transforms measured so far, each once, in order."""
        return tuple(self._known.values())

    def __call__(self, transform: Transform) -> Measured:
        """Accuracy and causality under a transform."""
        if transform not in self._known:
            space = self._space
            text, video = transform.apply(space.text), transform.apply(space.video)
            causality = causality_at_k(video[space.caption_video], text, SEARCHED_K, space.similarity)
            self._known[transform] = Measured(transform, self._accuracy(transform), causality.mean)
        return self._known[transform]


Coordinate: TypeAlias = Literal["power", "scale", "shift"]
Measure: TypeAlias = Callable[[Transform], Measured]
"""Asked for the same transform again, it costs nothing: a search does so."""
STEPS = (-4, -3, -2, -1, 0, 1, 2, 3, 4)
"""Values tried along a coordinate, in steps from the current one."""
FIRST_FACTOR, FIRST_SHIFT = 2**0.75, 0.5
"""The first step: power and scale are multiplied (up to 8 × and down to 1/8), the shift moves by up to 2."""
LIMITS: dict[Coordinate, tuple[float, float]] = {"power": (1 / 8, 8.0), "scale": (1 / 16, 64.0), "shift": (-16.0, 16.0)}
"""Bounds of the search: beyond them nearly all probabilities are 0 or 1."""
REFINEMENTS = 4
"""How often the first steps are halved."""
DEFAULT_TOLERANCE = 0.001
"""Accuracy that may be given up for causality: 0.1 points of mAP."""


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
    measure: Measure, start: Transform, *, tolerance: float = DEFAULT_TOLERANCE, enough: float = math.inf
) -> Measured:
    """The direct search of the thesis's section 5.3.1: one coordinate at a time, in rounds, with smaller steps.

    First for accuracy: along each coordinate the most accurate of the values in `STEPS` is taken, of equal ones the one
    with the higher causality; when a round over all coordinates changes nothing the step is halved, `REFINEMENTS`
    times. Then for causality, in the same way from there: the value with the highest causality of those no less
    accurate than the start and at most `tolerance` less than the most accurate one; more causality than `enough` counts
    no more, and of those that have it the most accurate one is taken. The search is local: it may end in a local
    optimum.
    """
    tried: dict[Transform, Measured] = {}

    def noted(transform: Transform) -> Measured:
        tried[transform] = measure(transform)
        return tried[transform]

    def rank(measured: Measured) -> tuple[float, float]:
        highest = max(measured.accuracy for measured in tried.values())
        if measured.accuracy < max(first.accuracy, highest - tolerance):
            return -1.0, measured.accuracy
        return min(measured.causality, enough), measured.accuracy

    first = noted(start)
    _descend(noted, first, _by_accuracy)
    _descend(noted, max(tried.values(), key=rank), rank)
    return max(tried.values(), key=rank)


def _by_accuracy(measured: Measured) -> tuple[float, float]:
    return measured.accuracy, measured.causality


def _descend(measure: Measure, current: Measured, rank: Callable[[Measured], tuple[float, float]]) -> None:
    """Measures what coordinate moves from `current` reach that are better by `rank`."""
    for refinement in range(REFINEMENTS + 1):
        moved = True
        while moved:
            moved = False
            for coordinate in coordinates(current.transform.similarity):
                line = _line(current.transform, coordinate, 0.5**refinement)
                best = max(map(measure, line), key=rank)
                if rank(best) > rank(current):
                    current, moved = best, True


def _line(at: Transform, coordinate: Coordinate, step: float) -> Iterator[Transform]:
    """The transforms along one coordinate, with steps of `step` times the first ones."""
    lowest, highest = LIMITS[coordinate]
    value = getattr(at, coordinate)
    for count in STEPS:
        moved = value + FIRST_SHIFT * count * step if coordinate == "shift" else value * FIRST_FACTOR ** (count * step)
        # rounded, so that a step and its reverse lead to the same transform
        yield at.with_value(coordinate, round(min(highest, max(lowest, moved)), 6))


def pareto_front(measured: Sequence[Measured]) -> list[Measured]:
    """The transforms that no other one beats in accuracy and causality at once, the most accurate first.

    Of several with the same accuracy and the same causality the first one stays.
    """
    front: list[Measured] = []
    for candidate in sorted(measured, key=_by_accuracy, reverse=True):
        if not front or candidate.causality > front[-1].causality:
            front.append(candidate)
    return front


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


def thesis_search(measure: Measure, start: Transform) -> Measured:
    """The most accurate of two searches: over (a, b) with p as trained, and over (p, b) with a as trained.

    Each search alternates between its two parameters until neither changes. Along a parameter the most accurate value
    of its grid is taken, unless the curve is flat: if it gains at most `FLAT` over the value that the model was trained
    with, that value is kept, since a lower shift costs causality. The result is never less accurate than the start. A
    cosine has no scale.
    """
    partners: tuple[Coordinate, ...] = ("scale", "power") if start.similarity == "jaccard" else ("power",)
    return max([measure(start), *(_with_shift(measure, start, partner) for partner in partners)], key=_by_accuracy)


def _with_shift(measure: Measure, start: Transform, partner: Coordinate) -> Measured:
    """The result of the search over the shift and its partner."""
    at = start
    for _ in range(_ROUNDS):
        before = at
        for coordinate in (partner, "shift"):
            at = _along(measure, at, coordinate, start).transform
        if at == before:
            break
    return measure(at)


def _along(measure: Measure, at: Transform, coordinate: Coordinate, start: Transform) -> Measured:
    """The most accurate value along a coordinate, or the model's own one where the curve is flat."""
    grid = GRIDS[coordinate]

    def measured(value: float) -> Measured:
        return measure(at.with_value(coordinate, value))

    def most_accurate(places: Sequence[int]) -> int:
        return max(places, key=lambda place: _by_accuracy(measured(grid[place])))

    coarse = most_accurate(range(0, len(grid), _COARSE))
    near = range(max(0, coarse - _COARSE + 1), min(len(grid), coarse + _COARSE))
    best, own = measured(grid[most_accurate(near)]), measured(getattr(start, coordinate))
    return own if best.accuracy - own.accuracy <= FLAT else best
