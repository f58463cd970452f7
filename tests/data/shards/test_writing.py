"""Row groups are the longest runs of whole videos within both bounds."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import GroupSize, caption_key, row_groups


@pytest.fixture(scope="module", autouse=True)
def small_bounds() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 5)
        patch.setattr(writing, "MAX_GROUP_BYTES", 100)
        yield


def groups_of(sizes: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    return list(row_groups(sizes, lambda size: GroupSize(*size)))


def test_rows_and_bytes_bound_a_group() -> None:
    assert groups_of([(2, 1), (3, 1), (1, 1)]) == [[(2, 1), (3, 1)], [(1, 1)]]
    assert groups_of([(1, 60), (1, 40), (1, 1)]) == [[(1, 60), (1, 40)], [(1, 1)]]


def test_a_video_beyond_the_bounds_is_a_group_of_its_own() -> None:
    assert groups_of([(1, 1), (9, 1), (1, 1)]) == [[(1, 1)], [(9, 1)], [(1, 1)]]
    assert groups_of([(1, 999)]) == [[(1, 999)]]
    assert groups_of([]) == []


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 150))))
def test_no_video_is_lost_and_no_group_could_be_longer(sizes: list[tuple[int, int]]) -> None:
    groups = groups_of(sizes)
    assert [size for group in groups for size in group] == sizes
    for group in groups:
        assert len(group) == 1 or (sum(r for r, _ in group) <= 5 and sum(b for _, b in group) <= 100)
    for group, following in pairwise(groups):
        longer = [*group, following[0]]
        assert sum(r for r, _ in longer) > 5 or sum(b for _, b in longer) > 100


def test_captions_of_the_same_words_have_the_same_key() -> None:
    assert caption_key("A dog, running.") == caption_key("a dog running") != caption_key("a running dog")
