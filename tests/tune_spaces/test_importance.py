"""Importance and the Pareto front against slow loops and cases that are plain to see."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from tune_spaces.sweep_figures import importances, pareto_front
from vtr_core.config.domains import Choice, Uniform
from vtr_core.config.search_space import Parameter, Space

SPACE = Space("s", "p", {"x": Parameter(Uniform(0.0, 1.0)), "c": Parameter(Choice(("a", "b", "c")))})


def test_against_slow_code() -> None:
    random = np.random.default_rng(0)
    points = [{"x": float(random.random()), "c": "abc"[random.integers(3)]} for _ in range(30)]
    objectives = [p["x"] + 0.5 * (p["c"] == "b") + float(random.normal(0, 0.2)) for p in points]
    found = {one.name: one.share for one in importances(SPACE, points, objectives)}
    assert found["x"] == pytest.approx(spearmanr([p["x"] for p in points], objectives).statistic ** 2)
    ranks, groups = rankdata(objectives), defaultdict(list)
    for point, rank in zip(points, ranks, strict=True):
        groups[point["c"]].append(rank)
    mean = sum(ranks) / 30
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values())
    assert found["c"] == pytest.approx(between / sum((r - mean) ** 2 for r in ranks))


def test_all_and_nothing() -> None:
    points = [{"x": i / 8, "c": "ab"[i % 2]} for i in range(8)]
    first, second = importances(SPACE, points, [float(i) for i in range(8)])
    assert (first.name, first.share, first.num_trials) == ("x", pytest.approx(1.0), 8)
    assert second.share < 0.1
    assert {one.share for one in importances(SPACE, points, [1.0] * 8)} == {0.0}


def test_few_trials_or_one_value_say_nothing() -> None:
    assert importances(SPACE, [{"x": 0.1}, {"x": 0.2}, {"x": 0.3}], [1.0, 2.0, 3.0]) == []
    assert importances(SPACE, [{"c": "a"}] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]) == []


def test_pareto_front() -> None:
    assert pareto_front([3.0, 2.0, 1.0], [30.0, 10.0, 20.0]) == [1, 0]
    assert pareto_front([2.0, 2.0, 2.0], [1.0, 1.0, 3.0]) == [0, 1]
    assert pareto_front([5.0], [1.0]) == [0]
