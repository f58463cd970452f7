import math
from dataclasses import replace

import pytest

from vtr_core.analysis.transform_search import Measured, coordinate_search, pareto_front
from vtr_core.analysis.transforms import Transform
from vtr_core.errors import ConfigError


def _hill(transform):
    """Most accurate at (a, b, p) = (2, -0.5, 1); causality grows with all three."""
    distance = math.log2(transform.scale / 2) ** 2 + (transform.shift + 0.5) ** 2 + math.log2(transform.power) ** 2
    grown = math.log2(transform.scale) + transform.shift + math.log2(transform.power)
    return Measured(transform, 0.5 - 0.05 * distance, 1 / (1 + math.exp(-grown)))


def test_accuracy_comes_first():
    found = coordinate_search(_hill, Transform("jaccard"), tolerance=0.0, refinements=6)
    assert found.best == found.accurate
    at = found.best.transform
    assert (at.scale, at.shift, at.power) == pytest.approx((2, -0.5, 1), abs=0.02)


def test_causality_is_taken_within_the_tolerance_and_no_further():
    found = coordinate_search(_hill, Transform("jaccard"), tolerance=0.01, refinements=6)
    floor = max(one.accuracy for one in found.measured) - 0.01
    assert floor <= found.best.accuracy < found.accurate.accuracy - 0.005
    assert found.best.causality > found.accurate.causality + 0.1
    allowed = [one for one in found.measured if one.accuracy >= max(floor, found.start.accuracy)]
    assert found.best.causality == max(one.causality for one in allowed)


def test_the_result_is_never_less_accurate_than_the_start():
    start = Transform("jaccard", 2.0, -0.5, 1.0)
    found = coordinate_search(_hill, start, tolerance=0.1)
    assert found.start.transform == start
    assert found.best == found.start


def _close(transform):
    """`_hill`, where a gain below 0.02 is within the interval's reach of none."""
    found = _hill(transform)
    start = _hill(Transform("jaccard", 1.0, -0.5, 1.0))
    return replace(found, gain_low=found.accuracy - start.accuracy - 0.02)


def test_by_the_interval_the_most_causal_transform_is_surely_no_less_accurate() -> None:
    start = Transform("jaccard", 1.0, -0.5, 1.0)
    mean, interval = (
        coordinate_search(_close, start, tolerance=1.0, refinements=6, keep_map=keep).best
        for keep in ("mean", "interval")
    )
    assert 0 <= mean.accuracy - _hill(start).accuracy < 0.002
    assert 0.02 <= interval.accuracy - _hill(start).accuracy < 0.022
    assert _hill(start).causality < interval.causality < mean.causality


def test_a_start_that_nothing_surely_matches_is_the_result() -> None:
    start = Transform("jaccard", 2.0, -0.5, 2**0.1)
    found = coordinate_search(lambda t: replace(_hill(t), gain_low=-0.01), start, tolerance=1.0, keep_map="interval")
    assert found.best == found.start
    assert found.accurate.accuracy > found.start.accuracy


def test_of_transforms_with_enough_causality_the_most_accurate_is_taken() -> None:
    start = Transform("jaccard", 4.0, 1.0, 1.0)
    most = coordinate_search(_hill, start, tolerance=1.0, refinements=6).best
    found = coordinate_search(_hill, start, tolerance=1.0, refinements=6, enough=0.8).best
    assert 0.8 <= found.causality < 0.82 < most.causality
    assert found.accuracy > most.accuracy + 0.01


def test_a_second_phase_begins_at_the_best_of_what_is_measured_already() -> None:
    far = Transform("jaccard", 5.0, 3.0, 3.0)

    def isolated(transform):
        return Measured(transform, 0.9, 0.9) if transform == far else _hill(transform)

    assert coordinate_search(isolated, Transform("jaccard"), tolerance=1.0).best.transform != far
    assert coordinate_search(isolated, Transform("jaccard"), tolerance=1.0, also=[isolated(far)]).best.transform == far


def test_where_accuracy_is_flat_the_most_causal_value_wins():
    found = coordinate_search(lambda t: Measured(t, 0.3, min(t.power, 4.0)), Transform("cosine"))
    assert found.best.causality == 4.0


def test_a_scale_is_not_searched_under_a_cosine():
    found = coordinate_search(_hill, Transform("cosine"), tolerance=0.0)
    assert {one.transform.scale for one in found.measured} == {1.0}
    assert len({one.transform.power for one in found.measured}) > 1


def test_nothing_is_measured_twice_and_the_search_ends_though_all_grows():
    asked = []

    def growing(transform):
        asked.append(transform)
        return Measured(transform, math.atan(transform.scale + transform.shift + transform.power), 0.5)

    found = coordinate_search(growing, Transform("jaccard"))
    assert len(asked) == len(set(asked)) == len(found.measured)
    assert found.best.transform == Transform("jaccard", 64.0, 16.0, 8.0)


def test_a_negative_or_undefined_tolerance_is_an_error():
    for tolerance in (-0.1, math.nan):
        with pytest.raises(ConfigError, match="tolerance"):
            coordinate_search(_hill, Transform("jaccard"), tolerance=tolerance)


def test_pareto_front_equals_all_comparisons():
    points = [(0.5, 0.1), (0.4, 0.3), (0.45, 0.3), (0.45, 0.2), (0.5, 0.05), (0.2, 0.9), (0.1, 0.9), (0.5, 0.1)]
    measured = [Measured(Transform("jaccard", scale=i + 1.0), *point) for i, point in enumerate(points)]
    beaten = {i for i, (a, c) in enumerate(points) if any(x >= a and y >= c and (x > a or y > c) for x, y in points)}
    expected = sorted({point for i, point in enumerate(points) if i not in beaten}, reverse=True)
    front = pareto_front(measured)
    assert [(one.accuracy, one.causality) for one in front] == expected
    assert front[0].transform.scale == 1.0
