"""A sweep's figures: which there are, that settings which matter come first, and that they are figures alone."""

import xml.etree.ElementTree as ET

import matplotlib
import optuna
import pytest

from tune_spaces.spaces import build_space
from tune_spaces.sweep_figures import Scored, sweep_figures
from vtr_core.config.search_space import Choice, OnlyWith, Parameter, Space, Uniform, planned_points
from vtr_core.systems.all import SYSTEMS

SPACE = build_space("capsule-howto-tiny", SYSTEMS)
TRIALS = [Scored(p, 50.0 + i, 1000 * (i + 1)) for i, p in enumerate(planned_points(SPACE, "random", 8, 0))]


def test_each_space_has_its_figures() -> None:
    style = dict(matplotlib.rcParams)
    found = sweep_figures(SPACE, TRIALS, "val/t2v/sum_r")
    assert set(found) == {"parallel_coordinates.svg", "importance.svg", "pareto.svg"}
    for figure in found.values():
        assert ET.fromstring(figure).tag == "{http://www.w3.org/2000/svg}svg"
    changed = {name for name, value in style.items() if matplotlib.rcParams[name] != value}
    assert not {name for name in changed if not name.startswith("backend")}


@pytest.mark.parametrize("trials", [TRIALS[:1], [TRIALS[0], TRIALS[0]], [TRIALS[0]] * 5])
def test_few_or_equal_trials_have_no_importances(trials: list[Scored]) -> None:
    assert set(sweep_figures(SPACE, trials, "m")) == {"parallel_coordinates.svg", "pareto.svg"}


def test_what_matters_has_the_largest_importance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a setting is active in a part of the trials."""
    space = Space(
        "s",
        "p",
        {
            "x": Parameter(Uniform(0.0, 1.0)),
            "kind": Parameter(Choice(("a", "b"))),
            "of_b": Parameter(Uniform(0.0, 1.0), OnlyWith("kind", ("b",))),
        },
    )
    points = planned_points(space, "random", 40, 0)
    seen: dict[str, float] = {}
    original = optuna.importance.get_param_importances

    def spied(*given: object, **named: object) -> dict[str, float]:
        seen.update(original(*given, **named))  # type: ignore[arg-type]
        return seen

    monkeypatch.setattr(optuna.importance, "get_param_importances", spied)
    sweep_figures(space, [Scored(point, float(point["x"] or 0), 1) for point in points], "m")
    assert max(seen, key=lambda name: seen[name]) == "x"
