"""When a capsule is active, and what that tells about a concept."""

import numpy as np
import pytest

from tests.reference import activations as reference
from vtr_core.analysis.concept_profiles import (
    ClipConcepts,
    clip_concepts,
    is_active,
    joint_counts,
    lift,
    mutual_information,
)


def planted(clips: int, words: int, seed: int) -> tuple[ClipConcepts, np.ndarray]:
    """Concepts w0, w1, … that clips name at random; and the matrix of who names what."""
    names = np.random.default_rng(seed).random((clips, words)) < 0.3
    return clip_concepts([{f"w{j}" for j in np.flatnonzero(row)} for row in names], np.arange(clips), 1), names


@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.4])
def test_active_clips_are_the_strongest_with_ties(levels: int, share: float) -> None:
    values = np.random.default_rng(1).integers(0, levels, (57, 6)).astype(np.float32)
    expected = [reference.active_clips(column.tolist(), share) for column in values.T]
    np.testing.assert_array_equal(is_active(values, share), np.array(expected).T)


def test_a_constant_capsule_is_never_active_and_a_switch_is_active_when_on() -> None:
    switch = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 0])
    rare = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    values = np.stack([np.full(10, 0.5), switch, rare], axis=1).astype(np.float32)
    np.testing.assert_array_equal(is_active(values, 0.2), np.stack([np.zeros(10), switch, rare], axis=1) == 1)
    assert is_active(np.zeros((0, 2), np.float32), 0.1).shape == (0, 2)


def test_information_and_lift_are_those_of_the_pairs() -> None:
    concepts, names = planted(60, 4, seed=2)
    active = np.random.default_rng(3).random((60, 3)) < 0.2
    joint = joint_counts(concepts, active)
    counts = (joint, names.sum(axis=0), active.sum(axis=0), 60)
    bits, lifts = mutual_information(*counts), lift(*counts)
    for word in range(4):
        for capsule in range(3):
            x, y = active[:, capsule].tolist(), names[:, word].tolist()
            assert joint[word, capsule] == sum(a and b for a, b in zip(x, y, strict=True))
            assert bits[word, capsule] == pytest.approx(reference.mutual_information(x, y), abs=1e-12)
            while_active = np.mean([b for a, b in zip(x, y, strict=True) if a])
            assert lifts[word, capsule] == pytest.approx(while_active / np.mean(y))


def test_a_capsule_that_fires_exactly_for_a_word_tells_its_entropy() -> None:
    concepts, names = planted(200, 2, seed=4)
    counts = (names.sum(axis=0), names.sum(axis=0), 200)
    bits = mutual_information(joint_counts(concepts, names), *counts)
    for word in range(2):
        assert bits[word, word] == pytest.approx(reference.entropy(names[:, word].mean()), abs=1e-12)
