"""The blockwise search finds what sorting all scores finds: the best, ties by position, NaN last."""

import numpy as np
import pytest
from jaxtyping import Float32

from vtr_core.embedding.video_ranking import JointItems, Nearest, best_of, nearest

CLIPS, DIM = 23, 4


def clips() -> JointItems:
    """Whole numbers, so that scores are exact and many tie; one clip's vector is NaN."""
    vectors = np.random.default_rng(0).integers(-1, 2, size=(CLIPS, DIM)).astype(np.float32)
    vectors[5] = np.nan
    return JointItems({"video": vectors}, {"video": np.ones(CLIPS, np.bool_)})


def slowly(scores: Float32[np.ndarray, " clips"], among: list[int], k: int) -> list[int]:
    """The k best of the positions `among`, by sorting all."""
    return sorted(among, key=lambda place: (np.isnan(scores[place]), -np.nan_to_num(scores[place]), place))[:k]


@pytest.mark.parametrize("block", [1, 4, 100])
@pytest.mark.parametrize("k", [1, 7, 22, 40])
@pytest.mark.parametrize("among", [None, [0, 3, 5, 6, 19, 22], [5], []], ids=["all", "some", "a NaN", "none"])
def test_the_best_are_those_of_sorting_all(
    block: int, k: int, among: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtr_core.embedding.video_ranking.BLOCK", block)
    queries = np.random.default_rng(1).integers(-1, 2, size=(3, DIM)).astype(np.float32)
    queries[2] = 0  # all tie
    chosen = None if among is None else np.array(among, np.int64)
    found = nearest(clips(), queries, "dot", k, chosen)
    every = queries @ clips().vectors["video"].T
    for one, scores in zip(found, every, strict=True):
        expected = slowly(scores, list(range(CLIPS)) if among is None else among, k)
        assert one.positions.tolist() == expected
        np.testing.assert_array_equal(one.scores, scores[expected])


def test_no_query_finds_nothing() -> None:
    assert nearest(clips(), np.zeros((0, DIM), np.float32), "dot", 3) == []


def test_the_best_of_parts_keep_their_order_where_they_tie() -> None:
    parts = [
        Nearest(np.array([2, 1], np.float32), np.array([1, 0])),
        Nearest(np.array([2, 1], np.float32), np.array([0, 1])).shifted(2),
    ]
    found = best_of(parts, 3)
    assert (found.scores.tolist(), found.positions.tolist()) == ([2, 2, 1], [1, 2, 0])
