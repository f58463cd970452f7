"""Optuna asks only for what counts, goes on after a resumption, and learns from results."""

import pickle

from tests.config.domain_values import contains
from tune_spaces.spaces import build_space
from tune_spaces.trial_search import OptunaPoints
from vtr_core.config.search_space import Parameter, Space, Uniform
from vtr_core.systems.all import SYSTEMS

SPACE = build_space("capsule-howto-tiny", SYSTEMS)


def test_points_are_numbered_and_inside() -> None:
    search = OptunaPoints(SPACE, seed=0)
    for number in range(20):
        trial = search.suggest(f"t{number}")["trial"]
        assert trial["number"] == number
        assert all(contains(SPACE.parameters[name].domain, value) for name, value in trial["point"].items())
        assert ("loss.temperature" in trial["point"]) == (trial["point"]["loss"] == "temperature")
        search.on_trial_complete(f"t{number}", {"objective": 1.0} if number % 2 else None, error=number % 2 == 0)


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
