"""Agreement of profiles over two data sets: rank correlations, by hand and of planted capsules."""

import numpy as np
import pytest

from tests.reference import activations as reference
from vtr_core.analysis.concept_profiles import ConceptProfiles, agreement


def profiles(words: list[str], signed: np.ndarray) -> ConceptProfiles:
    lift = np.where(signed < 0, 0.5, 2.0)
    ones = np.ones(signed.shape)
    return ConceptProfiles(tuple(words), 9, np.ones(len(words), np.int64), np.abs(signed), lift, ones, ones)


def test_correlations_are_those_of_the_shared_words() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(-3, 4, (7, 4)) / 4, rng.integers(-3, 4, (6, 4)) / 4
    found = agreement(profiles(list("abcdefg"), first), profiles(list("gcxbae"), second))
    a, b = first[[0, 1, 2, 4, 6]], second[[4, 3, 1, 5, 0]]
    expected = np.array([[reference.spearman(x.tolist(), y.tolist()) for y in b.T] for x in a.T])
    assert found.shared_words == 5
    np.testing.assert_allclose(found.same, np.diagonal(expected))
    assert found.mean_same == pytest.approx(np.diagonal(expected).mean())
    assert found.mean_other == pytest.approx(expected[~np.eye(4, dtype=bool)].mean())
    best = expected - np.diag(np.full(4, np.inf))
    assert found.recognised == np.mean(np.diagonal(expected) > best.max(axis=1))


def test_equal_capsules_are_recognised_and_swapped_ones_are_not() -> None:
    signed = np.random.default_rng(1).normal(size=(50, 4))
    words = [f"w{i}" for i in range(50)]
    here = profiles(words, signed)
    assert agreement(here, profiles(words, 2 * signed)).recognised == 1
    assert agreement(here, profiles(words, 2 * signed)).mean_same == pytest.approx(1)
    assert agreement(here, profiles(words, signed[:, [1, 0, 3, 2]])).recognised == 0


def test_a_constant_profile_and_too_few_words_have_no_correlation() -> None:
    signed = np.array([[0.0, 1.0], [0.0, 2.0]])
    found = agreement(profiles(["a", "b"], signed), profiles(["a", "b"], signed))
    assert np.isnan(found.same).tolist() == [True, False]
    assert (found.mean_same, found.mean_other) == (pytest.approx(1), None)
    alone = agreement(profiles(["a", "b"], signed), profiles(["a", "c"], signed))
    assert (alone.shared_words, alone.mean_same, alone.recognised) == (1, None, None)
