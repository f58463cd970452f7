"""Strongest clips: those of a sort, in whatever pieces they come."""

import numpy as np
import pytest

from tests.reference import activations as reference
from vtr_core.analysis.capsule_usage import TopClips


def stream(values: np.ndarray, k: int, piece: int) -> TopClips:
    top = TopClips.empty(k, values.shape[1])
    for first in range(0, len(values), piece):
        part = values[first : first + piece]
        top = top.with_clips(np.arange(first, first + len(part)), part)
    return top


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_the_strongest_are_those_of_a_sort_with_ties_by_row(piece: int) -> None:
    values = np.random.default_rng(0).integers(0, 4, (23, 5)).astype(np.float32)
    top = stream(values, 6, piece)
    expected = reference.top_clips(values, 6)
    assert [[clip for clip, _ in top.of(c)] for c in range(5)] == expected
    assert [value for _, value in top.of(2)] == values[expected[2], 2].tolist()


def test_fewer_clips_than_places() -> None:
    top = stream(np.array([[0.25], [0.75]], np.float32), 4, 1)
    assert top.of(0) == [(1, 0.75), (0, 0.25)]
    assert top.numbers == {0, 1}
