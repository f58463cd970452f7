"""Optuna asks only for what counts, goes on after a resumption, and learns from results; grids are whole."""

import pickle
from typing import Any, get_args

import pytest

from tune_spaces.spaces import build_space, search_spaces
from tune_spaces.trial_search import OptunaPoints
from vtr_core.config.search_space import (
    Choice,
    Domain,
    Integer,
    Parameter,
    SearchKind,
    Space,
    Uniform,
    Variant,
    grid_points,
)
from vtr_core.errors import ConfigError
from vtr_core.systems.all import SYSTEMS

SPACE = build_space("capsule-howto-tiny", SYSTEMS)


def contains(domain: Domain, value: Any) -> bool:
    match domain:
        case Choice(values) | Variant(values):
            return value in values
        case Integer(low, high):
            return type(value) is int and low <= value <= high
        case Uniform(low, high):
            return type(value) in (int, float) and low <= value <= high
        case _:
            return False


@pytest.mark.parametrize("kind", get_args(SearchKind)[:2])
@pytest.mark.parametrize("name", search_spaces(SYSTEMS))
def test_points_are_numbered_inside_and_a_function_of_the_seed(name: str, kind: SearchKind) -> None:
    space = build_space(name, SYSTEMS)
    search, again = OptunaPoints(space, 0, kind), OptunaPoints(space, 0, kind)
    points = []
    for number in range(20):
        trial = search.suggest(f"t{number}")["trial"]
        assert again.suggest(f"t{number}")["trial"] == trial
        assert trial["number"] == number
        assert all(contains(space.parameters[key].domain, value) for key, value in trial["point"].items())
        assert trial["point"].keys() == {key for key in space.parameters if space.is_active(key, trial["point"])}
        points.append(tuple(trial["point"].items()))
        for each in (search, again):
            each.on_trial_complete(f"t{number}", {"objective": 1.0} if number % 2 else None, error=number % 2 == 0)
    assert len(set(points)) > 3


def test_waiting_points_come_first_as_they_were() -> None:
    before = {"loss": "margin", "loss.margin.value": 0.125, "model.num_capsules": 16}
    search = OptunaPoints(SPACE, seed=0, waiting=[(4, before)], known=[(before, 3.0)], first=7)
    assert search.suggest("a")["trial"] == {"number": 4, "point": before}
    assert search.suggest("b")["trial"]["number"] == 7


def test_it_learns() -> None:
    space = Space("s", "p", {"x": Parameter(Uniform(0.0, 1.0))})
    search = OptunaPoints(space, seed=0, known=[({"x": i / 40}, -abs(i / 40 - 0.8)) for i in range(40)])
    found = []
    for i in range(20):
        x = search.suggest(str(i))["trial"]["point"]["x"]
        search.on_trial_complete(str(i), {"objective": -abs(x - 0.8)})
        found.append(abs(x - 0.8))
    assert sum(distance < 0.1 for distance in found) > 10


def test_tune_can_keep_it() -> None:
    search = OptunaPoints(SPACE, seed=0)
    search.suggest("a")
    pickle.dumps(search)


def test_a_grid_is_whole_or_refused() -> None:
    points = grid_points(SPACE, 24)
    assert len({tuple(point.items()) for point in points}) == 24
    with pytest.raises(ConfigError, match=r"has 24 points, --num-samples allows 23; vary less"):
        grid_points(SPACE, 23)


def test_points_that_are_not_possible_are_left_out_of_a_grid() -> None:
    every = grid_points(SPACE, 24)
    setting, value = next((name, value) for name, value in every[0].items())
    some = grid_points(SPACE, 24, lambda point: point[setting] != value)
    assert some == [point for point in every if point[setting] != value]
    assert 0 < len(some) < len(every)
