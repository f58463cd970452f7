"""Points that are planned, and points near another one."""

import pytest

from tune_spaces.spaces import build_space
from vtr_core.config.search_space import planned_points
from vtr_core.errors import ConfigError
from vtr_core.systems.all import SYSTEMS

TINY = build_space("capsule-howto-tiny", SYSTEMS)


def test_random_points_are_a_function_of_the_seed() -> None:
    assert planned_points(TINY, "random", 5, 3) == planned_points(TINY, "random", 5, 3)
    assert planned_points(TINY, "random", 5, 3) != planned_points(TINY, "random", 5, 4)
    assert planned_points(TINY, "random", 5, 3) == planned_points(TINY, "random", 9, 3)[:5]


def test_a_grid_is_whole_or_refused() -> None:
    assert len(planned_points(TINY, "grid", 24, 0)) == 24
    with pytest.raises(ConfigError, match=r"has 24 points, --num-samples allows 23; vary less"):
        planned_points(TINY, "grid", 23, 0)
    assert planned_points(TINY, "optuna", 5, 0) == []


def test_points_that_are_not_possible_are_left_out_of_a_grid() -> None:
    every = planned_points(TINY, "grid", 24, 0)
    setting, value = next((name, value) for name, value in every[0].items())
    some = planned_points(TINY, "grid", 24, 0, lambda point: point[setting] != value)
    assert some == [point for point in every if point[setting] != value]
    assert 0 < len(some) < len(every)
