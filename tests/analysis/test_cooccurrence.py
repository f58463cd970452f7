import numpy as np
import pytest

from tests.reference.cooccurrence import correlation
from vtr_core.analysis.concept_detectors import ConceptPair, cooccurrence, strongest_pairs


@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_pearsons(seed):
    present = np.random.default_rng(seed).random((20, 6)) < 0.4
    present[:, 4], present[:, 5] = False, True
    found = cooccurrence(present)
    for i in range(6):
        for j in range(6):
            assert found.together[i, j] == sum(bool(row[i] and row[j]) for row in present)
            expected = correlation(present[:, i].tolist(), present[:, j].tolist())
            if expected is None:
                assert np.isnan(found.correlation[i, j])
            else:
                assert found.correlation[i, j] == pytest.approx(expected)


def test_the_strongest_pairs_come_first_and_rare_ones_not_at_all():
    columns = {"always": "111111", "a": "111000", "b": "110000", "c": "000111", "d": "000001", "e": "000001"}
    present = np.array([[value == "1" for value in column] for column in columns.values()]).T
    found = cooccurrence(present)
    assert [(pair.first, pair.second) for pair in strongest_pairs(found, 9, 1)][:2] == [(4, 5), (1, 2)]
    (pair,) = strongest_pairs(found, 9, 2)
    assert pair == ConceptPair(1, 2, 2, pair.correlation, 2 / 3, 1.0)
    assert pair.correlation == pytest.approx(0.5**0.5)
    assert strongest_pairs(found, 9, 4) == []
    assert len(strongest_pairs(found, 1, 1)) == 1


def test_ties_go_to_the_more_frequent_concepts():
    present = np.array([[1, 0, 1, 0], [0, 1, 0, 1]]).T.repeat(2, axis=1)[:, [0, 2, 1, 3]].astype(bool)
    assert [(pair.first, pair.second) for pair in strongest_pairs(cooccurrence(present), 2, 1)] == [(0, 2), (1, 3)]
