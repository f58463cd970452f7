"""Points that are planned, and points near another one."""

from random import Random

import pytest

from tests.config.domain_values import contains
from tune_spaces.spaces import build_space
from vtr_core.config.search_space import Choice, Integer, Parameter, Space, Uniform, Variant, perturbed, planned_points
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


def test_a_perturbed_point_is_near_and_inside() -> None:
    space = Space(
        "s",
        "p",
        {
            "u": Parameter(Uniform(0.0, 1.0)),
            "i": Parameter(Integer(1, 10)),
            "c": Parameter(Choice((1, 2, 3, 4, 5))),
            "v": Parameter(Variant({"x": {}, "y": {}})),
        },
    )
    point, random = {"u": 0.9, "i": 10, "c": 3, "v": "y"}, Random(0)
    found = [perturbed(space, point, random) for _ in range(400)]
    for one in found:
        assert one.keys() == point.keys()
        assert all(contains(space.parameters[name].domain, value) for name, value in one.items())
        assert one["v"] == "y"
    near = [one["u"] for one in found if one["u"] in (1.0, pytest.approx(0.72))]
    assert 0.68 < len(near) / 400 < 0.82
    assert {one["c"] for one in found} == {1, 2, 3, 4, 5}
    assert sum(one["c"] in (2, 4) for one in found) > 280
