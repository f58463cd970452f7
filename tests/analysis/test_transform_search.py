"""Searches for a transform, and what they measure."""

import math

import pytest
import torch

from tests.reference import causality as slow_causality
from vtr_core.analysis.transform_search import (
    GRIDS,
    Measured,
    TransformObjective,
    coordinate_search,
    pareto_front,
    thesis_search,
)
from vtr_core.analysis.transforms import ConceptSpace, Transform


def _hill(transform):
    """Most accurate at (a, b, p) = (2, -0.5, 1); causality grows with all three."""
    distance = math.log2(transform.scale / 2) ** 2 + (transform.shift + 0.5) ** 2 + math.log2(transform.power) ** 2
    grown = math.log2(transform.scale) + transform.shift + math.log2(transform.power)
    return Measured(transform, 0.5 - 0.05 * distance, 1 / (1 + math.exp(-grown)))


def _noted(measure):
    """The measure, and what it has been asked."""
    tried = {}
    return lambda transform: tried.setdefault(transform, measure(transform)), tried


def test_accuracy_comes_first():
    at = coordinate_search(_hill, Transform("jaccard"), tolerance=0.0).transform
    assert (at.scale, at.shift, at.power) == pytest.approx((2, -0.5, 1), abs=0.06)


def test_causality_is_taken_within_the_tolerance_and_no_further():
    measure, tried = _noted(_hill)
    best = coordinate_search(measure, Transform("jaccard"), tolerance=0.01)
    most = max(tried.values(), key=lambda measured: measured.accuracy)
    allowed = [measured for measured in tried.values() if measured.accuracy >= most.accuracy - 0.01]
    assert best.causality == max(measured.causality for measured in allowed) > most.causality + 0.1


def test_the_result_is_never_less_accurate_than_the_start():
    start = Transform("jaccard", 2.0, -0.5, 1.0)
    assert coordinate_search(_hill, start, tolerance=0.1) == _hill(start)


def test_of_transforms_with_enough_causality_the_most_accurate_is_taken() -> None:
    start = Transform("jaccard", 4.0, 1.0, 1.0)
    most = coordinate_search(_hill, start, tolerance=1.0)
    best = coordinate_search(_hill, start, tolerance=1.0, enough=0.8)
    assert 0.8 <= best.causality < 0.84 < most.causality
    assert best.accuracy > most.accuracy + 0.01


def test_where_accuracy_is_flat_the_most_causal_value_wins():
    assert coordinate_search(lambda t: Measured(t, 0.3, min(t.power, 4.0)), Transform("cosine")).causality == 4.0


def test_a_scale_is_not_searched_under_a_cosine():
    measure, tried = _noted(_hill)
    coordinate_search(measure, Transform("cosine"), tolerance=0.0)
    assert {transform.scale for transform in tried} == {1.0}
    assert len({transform.power for transform in tried}) > 1


def test_the_search_ends_at_its_bounds_where_all_grows():
    best = coordinate_search(lambda t: Measured(t, math.atan(t.scale + t.shift + t.power), 0.5), Transform("jaccard"))
    assert best.transform == Transform("jaccard", 64.0, 16.0, 8.0)


def test_pareto_front_equals_all_comparisons():
    points = [(0.5, 0.1), (0.4, 0.3), (0.45, 0.3), (0.45, 0.2), (0.5, 0.05), (0.2, 0.9), (0.1, 0.9), (0.5, 0.1)]
    measured = [Measured(Transform("jaccard", scale=i + 1.0), *point) for i, point in enumerate(points)]
    beaten = {i for i, (a, c) in enumerate(points) if any(x >= a and y >= c and (x > a or y > c) for x, y in points)}
    expected = sorted({point for i, point in enumerate(points) if i not in beaten}, reverse=True)
    front = pareto_front(measured)
    assert [(one.accuracy, one.causality) for one in front] == expected
    assert front[0].transform.scale == 1.0


def _test_thesis_search_hill(scale: float, shift: float, power: float, steep: float = 0.05):  # type: ignore[no-untyped-def]
    def measure(at: Transform) -> Measured:
        distance = math.log2(at.scale / scale) ** 2 + (at.shift - shift) ** 2 + math.log2(at.power / power) ** 2
        return Measured(at, 0.5 - steep * distance, 0.1)

    return measure


def test_it_finds_the_grids_best_and_never_moves_scale_and_power_together() -> None:
    measure, tried = _noted(_test_thesis_search_hill(2.7, -0.25, 1.0))
    assert thesis_search(measure, Transform("jaccard")).transform == Transform("jaccard", 2.7, -0.25, 1.0)
    for transform in tried:
        assert transform.scale == 1 or transform.power == 1
        assert transform.scale in GRIDS["scale"]
        assert transform.shift in GRIDS["shift"]


def test_it_takes_the_better_of_scale_and_power() -> None:
    best = thesis_search(_test_thesis_search_hill(1.1, 0.0, 1.6), Transform("jaccard")).transform
    assert (best.scale, best.power) == (1.0, 1.6)


def test_where_the_curve_is_flat_the_trained_value_stays() -> None:
    for steep, shift in ((0.05, 0.0), (0.5, -0.1)):  # it gains 0.0005, and 0.005
        measure = _test_thesis_search_hill(2.0, -0.1, 1.0, steep)
        assert thesis_search(measure, Transform("jaccard")).transform.shift == shift


def test_a_cosine_has_power_and_shift_and_is_never_worse_than_as_trained() -> None:
    measure, tried = _noted(_test_thesis_search_hill(1.0, -0.24, 1.07, 1.0))
    assert thesis_search(measure, Transform("cosine")).transform == Transform("cosine", 1.0, -0.24, 1.07)
    assert {transform.scale for transform in tried} == {1.0}
    assert thesis_search(_test_thesis_search_hill(1.0, 0.0, 1.0), Transform("cosine")).transform == Transform("cosine")


CHANGE = Transform("jaccard", 2.0, 0.5, 1.5)


def _space():
    generator = torch.Generator().manual_seed(2)
    scores = 2 * torch.randn(10, 12, generator=generator)
    return ConceptSpace(scores[:7], scores[7:], torch.arange(7) % 3, "jaccard")


def _causality(space, k):
    text, video = CHANGE.apply(space.text).tolist(), CHANGE.apply(space.video).tolist()
    values = [slow_causality.causality_at_k(video[v], text[i], k, "jaccard") for i, v in enumerate(space.caption_video)]
    return sum(values) / len(values)


def test_measures_accuracy_as_it_is_given_and_causality_over_matched_pairs():
    space = _space()
    found = TransformObjective(space, lambda transform: transform.scale / 10)(CHANGE)
    assert (found.transform, found.accuracy) == (CHANGE, 0.2)
    assert found.causality == pytest.approx(_causality(space, 10), rel=1e-6)


def test_a_transform_is_measured_once():
    calls = []
    objective = TransformObjective(_space(), lambda transform: calls.append(transform) or 0.5)
    first, again = objective(CHANGE), objective(Transform("jaccard", 2.0, 0.5, 1.5))
    assert first is again
    assert len(calls) == 1
    objective(objective.identity)
    assert [one.transform for one in objective.measured] == [CHANGE, Transform("jaccard")]
