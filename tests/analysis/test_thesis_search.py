"""The thesis's own search: on its grids, scale and power never together, the trained value where a curve is flat."""

import math

import pytest

from vtr_core.analysis.transform_search import GRIDS, Measured, thesis_search
from vtr_core.analysis.transforms import Transform
from vtr_core.errors import ConfigError


def _hill(scale: float, shift: float, power: float, steep: float = 0.05):  # type: ignore[no-untyped-def]
    def measure(at: Transform) -> Measured:
        distance = math.log2(at.scale / scale) ** 2 + (at.shift - shift) ** 2 + math.log2(at.power / power) ** 2
        return Measured(at, 0.5 - steep * distance, 0.1)

    return measure


def test_it_finds_the_grids_best_and_never_moves_scale_and_power_together() -> None:
    found = thesis_search(_hill(2.7, -0.25, 1.0), Transform("jaccard"))
    assert found.best.transform == Transform("jaccard", 2.7, -0.25, 1.0)
    for one in found.measured:
        assert one.transform.scale == 1 or one.transform.power == 1
        assert one.transform.scale in GRIDS["scale"]
        assert one.transform.shift in GRIDS["shift"]


def test_it_takes_the_better_of_scale_and_power() -> None:
    found = thesis_search(_hill(1.1, 0.0, 1.6), Transform("jaccard"), flat=0.0)
    assert (found.best.transform.scale, found.best.transform.power) == (1.0, 1.6)


def test_where_the_curve_is_flat_the_trained_value_stays() -> None:
    measure = _hill(2.0, -0.1, 1.0)
    assert thesis_search(measure, Transform("jaccard"), flat=0.001).best.transform.shift == 0.0  # it gains 0.0005
    assert thesis_search(measure, Transform("jaccard"), flat=0.0).best.transform.shift == -0.1


def test_a_cosine_has_power_and_shift_and_is_never_worse_than_as_trained() -> None:
    found = thesis_search(_hill(1.0, -0.24, 1.07), Transform("cosine"), flat=0.0)
    assert found.best.transform == Transform("cosine", 1.0, -0.24, 1.07)
    assert {one.transform.scale for one in found.measured} == {1.0}
    top = thesis_search(_hill(1.0, 0.0, 1.0), Transform("cosine"))
    assert top.best == top.start
    with pytest.raises(ConfigError, match="must be 0 or more"):
        thesis_search(_hill(1.0, 0.0, 1.0), Transform("cosine"), flat=-1.0)
