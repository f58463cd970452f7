"""Ordered steps against every path there is, and the golden values."""

import numpy as np
import pytest

from tests.reference import localization as reference
from vtr_core.metrics.localization import ordered_steps, ordered_steps_of_many
from vtr_core.metrics.ranks import MetricError


def seconds_of(assignment: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(column).tolist() for column in assignment.T]


@pytest.mark.parametrize(
    ("exactly_one", "expected", "total"),
    [(True, [[2], [8], [9]], -2.0649104), (False, [[0, 1, 2, 3, 4], [5], [6, 7, 8, 9]], -4.7055650)],
)
def test_golden_values(exactly_one: bool, expected: list[list[int]], total: float) -> None:
    second, step = np.arange(12)[:, None], np.arange(3)
    cost = -np.sin(0.7 * second + 1.3 * step).astype(np.float32)
    result = ordered_steps(cost, exactly_one=exactly_one)
    assert seconds_of(result.assignment) == expected
    assert result.cost == pytest.approx(total, abs=1e-6)


def test_golden_tie() -> None:
    assignment, cost = ordered_steps(np.zeros((5, 2)))
    assert (seconds_of(assignment), cost) == ([[0], [4]], 0.0)


@pytest.mark.parametrize("exactly_one", [True, False])
@pytest.mark.parametrize("kind", ["distinct", "tied"])
@pytest.mark.parametrize(("seconds", "steps"), [(1, 1), (2, 1), (3, 3), (5, 1), (5, 2), (6, 2), (4, 3), (5, 3)])
def test_no_allowed_path_is_better(seconds: int, steps: int, kind: str, exactly_one: bool) -> None:
    generator = np.random.default_rng([seconds, steps])
    for _ in range(6):
        cost = generator.standard_normal((seconds, steps))
        if kind == "tied":
            cost = generator.integers(-1, 2, (seconds, steps)).astype(np.float64)
        path, total = reference.ordered_steps(cost.tolist(), steps, exactly_one)
        assignment, found = ordered_steps(cost, exactly_one=exactly_one)
        assert found == pytest.approx(total)
        assert seconds_of(assignment) == reference.placed(path, steps)


@pytest.mark.parametrize("exactly_one", [True, False])
def test_too_few_seconds_place_nothing(exactly_one: bool) -> None:
    for seconds in (0, 1, 2):
        assignment, cost = ordered_steps(np.ones((seconds, 3)), exactly_one=exactly_one)
        assert (assignment.shape, assignment.any(), cost) == ((seconds, 3), False, np.inf)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_costs_must_be_finite(value: float) -> None:
    cost = np.zeros((4, 2))
    cost[3, 1] = value
    with pytest.raises(MetricError, match=r"the cost of step 1 at second 3 is .*; it must be finite"):
        ordered_steps(cost)


def test_several_at_once_are_each_alone() -> None:
    costs = np.random.default_rng(0).standard_normal((7, 20, 4))
    for exactly_one in (True, False):
        assignments, totals = ordered_steps_of_many(costs, exactly_one)
        for cost, assignment, total in zip(costs, assignments, totals, strict=True):
            alone = ordered_steps(cost, exactly_one=exactly_one)
            assert (alone.assignment == assignment).all()
            assert alone.cost == total
