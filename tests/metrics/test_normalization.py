"""Corrections for hubs order the items of a query as their definitions do, whatever the range of the scores."""

import numpy as np
import pytest

from tests.reference import normalization as reference
from vtr_core.metrics import ranks as normalization
from vtr_core.metrics.ranks import best_items, dual_softmax, log_sums, query_bank


def chunk(scores):
    return lambda queries, items: scores[queries, items]


def ranks(scores):
    """The position of every item in its row, the best first."""
    return np.argsort(np.argsort(-scores, axis=1), axis=1)


@pytest.fixture
def scores():
    return np.random.default_rng(0).standard_normal((7, 9)).astype(np.float32)


@pytest.fixture(params=[(512, 16384), (2, 4)])
def _chunks(request, monkeypatch):
    monkeypatch.setattr(normalization, "QUERY_CHUNK", request.param[0])
    monkeypatch.setattr(normalization, "ITEM_CHUNK", request.param[1])


@pytest.mark.usefixtures("_chunks")
def test_log_sums_over_the_queries_that_count(scores):
    counted = np.array([True, False, True, True, False, True, True])
    expected = np.log(np.exp(scores.astype(np.float64) / 0.3).sum(axis=0))
    np.testing.assert_allclose(log_sums(chunk(scores), 7, 9, 0.3), expected, rtol=1e-12)
    expected = np.log(np.exp(scores[counted].astype(np.float64) / 0.3).sum(axis=0))
    np.testing.assert_allclose(log_sums(chunk(scores), 7, 9, 0.3, counted), expected, rtol=1e-12)


@pytest.mark.usefixtures("_chunks")
def test_best_items_take_the_first_of_a_tie(scores):
    assert best_items(chunk(scores), 7, 9).tolist() == scores.argmax(axis=1).tolist()
    assert best_items(chunk(np.zeros((3, 6))), 3, 6).tolist() == [0, 0, 0]


@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0, 10.0])
def test_dual_softmax_orders_like_the_product(scores, temperature):
    found = dual_softmax(scores, log_sums(chunk(scores), 7, 9, temperature), temperature)
    expected = reference.dual_softmax(scores.astype(np.float64), temperature)
    assert (np.sign(found) == np.sign(scores)).all()
    if temperature >= 0.1:  # below, the reference's shares vanish
        assert (ranks(found) == ranks(expected)).all()
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()


def test_dual_softmax_tells_items_apart_whose_share_no_float_holds():
    scores = np.array([[1.0, 2.0, 0.0, -1.0], [900.0, 901.5, 0.0, 900.0]])
    found = dual_softmax(scores, log_sums(chunk(scores), 2, 4, 0.1), 0.1)
    assert np.isfinite(found).all()
    assert found[0, 0] > found[0, 1] > found[0, 2] == 0  # 10 − 9000 is a greater share than 20 − 9015
    assert -1e-3 < found[0, 3] < 0


def test_dual_softmax_of_distances_does_not_favour_hubs():
    """Both items are equally far from query 0; item 1 is also near to query 1, so item 0 is the better answer."""
    scores = np.array([[-1.0, -1.0], [-5.0, -0.1]])
    sums = log_sums(chunk(scores), 2, 2, 1.0)
    found = dual_softmax(scores, sums, 1.0, never_positive=True)
    assert found[0, 0] > found[0, 1]
    assert dual_softmax(scores, sums, 1.0)[0, 0] < dual_softmax(scores, sums, 1.0)[0, 1]
    shares = np.exp(scores) / np.exp(scores).sum(axis=0)
    np.testing.assert_allclose(np.exp(found), np.exp(scores) * shares)


def test_query_bank_orders_like_the_dynamic_inverted_softmax(scores):
    bank = np.random.default_rng(1).standard_normal((4, 9))
    sums = log_sums(chunk(bank), 4, 9, 0.5)
    active = np.isin(best_items(chunk(scores), 7, 9), best_items(chunk(bank), 4, 9))
    assert 0 < active.sum() < 7
    found = query_bank(scores, sums, 0.5, active)
    assert (ranks(found) == ranks(reference.query_bank(scores.astype(np.float64), bank, 0.5))).all()
    np.testing.assert_array_equal(found[~active], scores[~active])
