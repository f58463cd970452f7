"""The figures of the commands keep what the page tells of memory over time, and no look more than that needs."""

import pytest

from benchmarks.at_scale.commands import POINTS, TENTHS, at_points


@pytest.mark.parametrize("looks", [1, 7, 55, 60, 61, 3599, 5000])
def test_the_tenths_are_those_of_all_looks(looks: int) -> None:
    seen = [float(look) for look in range(looks)]
    kept = at_points(seen, min(POINTS, looks))
    assert len(kept) <= POINTS
    assert kept[-1] == seen[-1]
    assert at_points(kept, TENTHS) == at_points(seen, TENTHS)


def test_values_stand_at_the_end_of_their_part() -> None:
    assert at_points([1.0, 2.0, 3.0, 4.0], 2) == (2.0, 4.0)
