"""Splits by video and groups of subjects."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.plan import assign_splits, folds, group_split, held_out_groups
from vtr_core.errors import ConfigError

VIDEOS = [f"video{i}" for i in range(5000)]
SHARES = {"train": 0.8, "val": 0.15, "test": 0.05}


def test_shares_come_out_in_expectation():
    counts = Counter(assign_splits(VIDEOS, SHARES, seed=3).values())
    for name, share in SHARES.items():
        assert counts[name] == pytest.approx(5000 * share, abs=75)


def test_a_video_keeps_its_split_whatever_the_others_are():
    whole = assign_splits(VIDEOS, SHARES, seed=1)
    assert assign_splits(VIDEOS[::-7], SHARES, seed=1) == {video: whole[video] for video in VIDEOS[::-7]}


def test_the_split_is_a_fixed_function_of_id_and_seed():
    assert assign_splits(["a", "b", "c", "d", "e"], {"x": 0.5, "y": 0.5}, seed=0) == dict(
        zip("abcde", "yxxyx", strict=True)
    )


@pytest.mark.parametrize(
    ("fractions", "message"),
    [
        ({"train": 0.8, "val": 0.1}, r"sum to 1, not 0\.9 \(given: train 0\.8, val 0\.1\)"),
        ({"train": 1.2, "val": -0.2}, r"in \[0, 1\]"),
        ({"train": float("nan")}, r"in \[0, 1\]"),
        ({}, r"given: none"),
    ],
)
def test_shares_that_are_none_are_errors(fractions, message):
    with pytest.raises(ConfigError, match=message):
        assign_splits(VIDEOS, fractions)


SUBJECTS = tuple(f"s{number}" for number in range(35))


def test_seven_disjoint_groups_of_five_cover_all_subjects():
    groups = held_out_groups(SUBJECTS, 5, 0)
    assert [len(group) for group in groups] == [5] * 7
    assert sorted(name for group in groups for name in group) == sorted(SUBJECTS)
    assert groups == held_out_groups(SUBJECTS, 5, 0) != held_out_groups(SUBJECTS, 5, 1)


@given(st.integers(6, 30), st.integers(2, 5), st.integers(0, 3))
def test_nobody_is_in_two_splits(count, size, seed):
    subjects = SUBJECTS[:count]
    if count // size < 3:
        with pytest.raises(ConfigError, match="at least 3 groups of 2"):
            held_out_groups(subjects, size, seed)
        return
    groups = held_out_groups(subjects, size, seed)
    tested = []
    for number in range(len(groups)):
        split = group_split(subjects, groups, number)
        assert sorted((*split.train, *split.validation, *split.test)) == sorted(subjects)
        assert len(split.validation) == len(split.test) == size
        tested += split.test
    assert len(set(tested)) == len(tested) == size * (count // size)


def test_folds_validate_every_subject_once():
    rounds = folds(SUBJECTS[:12], 5, 0)
    assert sorted(name for fold in rounds for name in fold.validation) == sorted(SUBJECTS[:12])
    assert {len(fold.validation) for fold in rounds} == {2, 3}
    for fold in rounds:
        assert fold.test == ()
        assert sorted((*fold.train, *fold.validation)) == sorted(SUBJECTS[:12])
    with pytest.raises(ConfigError, match="make no 5 folds of two or more"):
        folds(SUBJECTS[:9], 5, 0)
