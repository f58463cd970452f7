import numpy as np
import pytest

from tests.reference.causality import bootstrap_low
from vtr_core.metrics.intervals import PairedBootstrap
from vtr_core.metrics.ranks import MetricError


def test_the_lower_end_is_that_of_sorted_resamples_and_near_the_normal_one() -> None:
    differences = np.random.default_rng(1).normal(0.3, 1.0, 200)
    low = PairedBootstrap(200, seed=3).lower(differences)
    assert low == pytest.approx(bootstrap_low(differences.tolist(), 3), abs=1e-12)
    assert low == pytest.approx(differences.mean() - 1.96 * differences.std() / np.sqrt(200), abs=0.02)
    assert PairedBootstrap(200, seed=3).lower(differences, confidence=0.5) > low
    assert PairedBootstrap(5).lower(np.full(5, 0.25)) == pytest.approx(0.25)


def test_nothing_to_draw_from_is_an_error() -> None:
    with pytest.raises(MetricError, match="0 items"):
        PairedBootstrap(0)
