"""Groups and folds of subjects: disjoint, complete, seeded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.splits import folds, group_split, held_out_groups
from vtr_core.errors import ConfigError

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
    found = folds(SUBJECTS[:12], 5, 0)
    assert sorted(name for fold in found for name in fold.validation) == sorted(SUBJECTS[:12])
    assert {len(fold.validation) for fold in found} == {2, 3}
    for fold in found:
        assert fold.test == ()
        assert sorted((*fold.train, *fold.validation)) == sorted(SUBJECTS[:12])
    with pytest.raises(ConfigError, match="make no 5 folds of two or more"):
        folds(SUBJECTS[:9], 5, 0)
