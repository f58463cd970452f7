import math

import numpy as np
import pytest
from scipy import stats

from vtr_core.analysis.ensembles import difference, spread
from vtr_core.errors import DatasetError

FIRST, SECOND = [20.2, 20.6, 20.1, 20.4], [20.9, 21.0, 20.5]


def test_spread_of_runs():
    found = spread(FIRST)
    assert (found.mean, found.std, found.runs) == (
        pytest.approx(np.mean(FIRST)),
        pytest.approx(np.std(FIRST, ddof=1)),
        4,
    )


def test_one_run_has_no_spread_and_none_is_an_error():
    assert spread([2.0]).mean == 2.0
    assert math.isnan(spread([2.0]).std)
    with pytest.raises(DatasetError, match="one run at least"):
        spread([])


def test_z_test_is_two_sided():
    found = difference(FIRST, SECOND)
    error = math.sqrt(np.var(FIRST, ddof=1) / 4 + np.var(SECOND, ddof=1) / 3)
    assert found.difference == pytest.approx(np.mean(FIRST) - np.mean(SECOND))
    assert found.z == pytest.approx(found.difference / error)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(found.z)))
    assert found.welch_p_value == pytest.approx(stats.ttest_ind(FIRST, SECOND, equal_var=False).pvalue)
    assert difference(SECOND, FIRST).p_value == pytest.approx(found.p_value)


def test_a_single_run_on_a_side_cannot_be_tested():
    assert difference([1.0], [2.0, 3.0]) is None


def test_runs_without_any_spread():
    assert difference([1.0, 1.0], [1.0, 1.0]).p_value == 1.0
    assert difference([1.0, 1.0], [2.0, 2.0]).p_value == 0.0
