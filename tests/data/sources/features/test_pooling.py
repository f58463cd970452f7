import numpy as np
import pytest

from vtr_core.data.sources.features.feature_arrays import l2, pool, pooled_dim, to_float16, window
from vtr_core.data.sources.reasons import Reason, UnusableError

ROWS = np.random.default_rng(0).standard_normal((10, 4))


@pytest.mark.parametrize("fps", [1.0, 1.5, 0.3, 25.0])
def test_a_window_holds_the_rows_of_the_published_slice(fps):
    for start in np.arange(0, 9, 0.7):
        for end in np.arange(start + 0.1, 20, 1.3):
            expected = [ROWS[r] for r in range(int(start * fps), int(end * fps) + 1) if r < len(ROWS)]
            if expected:
                np.testing.assert_array_equal(window(ROWS, start, end, fps), expected)
            else:
                with pytest.raises(UnusableError, match="begins after the last of 10 rows") as caught:
                    window(ROWS, start, end, fps)
                assert caught.value.reason is Reason.OUTSIDE_FEATURES


def test_a_window_may_end_beyond_all_measure():
    np.testing.assert_array_equal(window(ROWS, 0.0, 1e300, 1.5), ROWS)


def test_pools_over_time_by_hand():
    columns = [[float(ROWS[t, d]) for t in range(10)] for d in range(4)]
    means = [sum(column) / 10 for column in columns]
    deviations = [(sum((x - m) ** 2 for x in column) / 10) ** 0.5 for column, m in zip(columns, means, strict=True)]
    np.testing.assert_allclose(pool(ROWS, "max"), [max(column) for column in columns])
    np.testing.assert_allclose(pool(ROWS, "mean"), means)
    np.testing.assert_allclose(pool(ROWS, "mean_std"), means + deviations)


@pytest.mark.parametrize("how", ["max", "mean", "mean_std"])
def test_a_vector_is_its_own_pool_and_lengths_are_foreseen(how):
    np.testing.assert_array_equal(pool(ROWS[0], how), ROWS[0])
    for array in (ROWS, ROWS[0]):
        assert len(pool(array, how)) == pooled_dim(array, how)


def test_float16_rows_are_pooled_without_overflow():
    rows = np.full((40, 2), 60000, np.float16)
    assert pool(rows, "mean").tolist() == [60000, 60000]


def test_l2_gives_length_one_and_leaves_zero():
    assert np.linalg.norm(l2(ROWS[0])) == pytest.approx(1)
    np.testing.assert_allclose(l2(ROWS[0]) * np.linalg.norm(ROWS[0]), ROWS[0])
    assert l2(np.zeros(3)).tolist() == [0, 0, 0]


def test_values_that_float16_cannot_hold_are_not_finite():
    assert to_float16(np.array([65504.0, -1.0]), "clip").dtype == np.float16
    for value in (65520.0, -1e9, np.inf, np.nan):
        with pytest.raises(UnusableError, match=r"clip7.*at most 65504") as caught:
            to_float16(np.array([1.0, value]), "clip7")
        assert caught.value.reason is Reason.NOT_FINITE
