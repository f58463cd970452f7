import pytest

from vtr_core.analysis.ensembles import stable_region
from vtr_core.errors import ConfigError, DatasetError


def test_the_region_goes_from_the_best_as_far_as_the_loss_allows():
    found = stable_region([512, 16, 64, 256, 1024, 128], [0.97, 0.5, 0.90, 1.0, 0.80, 0.98], loss=0.05)
    assert (found.low, found.high) == (128, 512)
    assert found.figure.mean == pytest.approx((0.98 + 1.0 + 0.97) / 3)


def test_a_dimension_beyond_a_worse_one_does_not_count():
    found = stable_region([1, 2, 3, 4], [0.99, 0.5, 1.0, 0.99], loss=0.03)
    assert (found.low, found.high) == (3, 4)


def test_trainings_of_one_dimension_count_by_their_mean():
    found = stable_region([8, 8, 16, 16], [0.9, 1.1, 0.9, 0.7], loss=0.03)
    assert (found.low, found.high, found.figure.runs) == (8, 8, 2)


def test_bad_requests_are_errors():
    with pytest.raises(DatasetError, match="2 dimensions and 1 figures"):
        stable_region([1, 2], [0.5])
    with pytest.raises(ConfigError, match="loss"):
        stable_region([1], [0.5], loss=1.0)
