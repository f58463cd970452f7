"""Lists of pairs: balanced, seeded, of pairs that are what they say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtr_core.data.records import arrays as face_pairs
from vtr_core.data.records.arrays import FacePair, PairList, draw_pairs, load_pairs, save_pairs
from vtr_core.errors import DatasetError, InputError
from vtr_core.storage import locate


def images(subjects: int, each: int) -> dict[str, list[str]]:
    return {f"s{s}": [f"s{s}/{i}" for i in range(each)] for s in range(subjects)}


@settings(max_examples=30)
@given(st.integers(2, 6), st.integers(2, 5), st.integers(1, 40), st.integers(0, 9))
def test_pairs_are_balanced_distinct_and_right(subjects, each, most, seed):
    pairs = draw_pairs(images(subjects, each), most, seed)
    assert pairs == draw_pairs(images(subjects, each), most, seed)
    different = [pair for pair in pairs.pairs if pair.different]
    matching = [pair for pair in pairs.pairs if not pair.different]
    assert len(different) == len(matching) == min(most, subjects * each * (each - 1) // 2)
    assert len({(p.first, p.second) for p in pairs.pairs}) == len(pairs.pairs)
    for pair in pairs.pairs:
        assert pair.first != pair.second
        assert (pair.first.split("/")[0] != pair.second.split("/")[0]) == pair.different


def test_the_seed_decides_and_the_order_of_subjects_does_not():
    settings = images(6, 4)
    assert draw_pairs(settings, 10, 0) != draw_pairs(settings, 10, 1)
    assert draw_pairs(dict(reversed(settings.items())), 10, 0) == draw_pairs(settings, 10, 0)


def test_many_images_are_drawn_from_without_listing_all_pairs(monkeypatch):
    monkeypatch.setattr(face_pairs, "_MOST_LISTED", 10)
    pairs = draw_pairs(images(6, 4), 30, 0)
    different = [pair for pair in pairs.pairs if pair.different]
    assert len({(p.first, p.second) for p in different}) == 30
    assert all(p.first.split("/")[0] != p.second.split("/")[0] for p in different)


@pytest.mark.parametrize(("subjects", "each"), [(1, 5), (5, 1)])
def test_one_kind_alone_is_refused(subjects, each):
    with pytest.raises(InputError, match="verification needs both"):
        draw_pairs(images(subjects, each), 10, 0)


def test_lists_come_back(tmp_path):
    pairs = PairList((FacePair("a/1", "a/2", False, 0), FacePair("a/1", "b/1", True, 3)), "seed 5")
    record = save_pairs(pairs, locate(str(tmp_path)))
    assert (record.matching, record.different, len({pair.fold for pair in pairs.pairs})) == (1, 1, 2)
    assert load_pairs({"pairs": vars(record)}, locate(str(tmp_path))) == pairs
    with pytest.raises(DatasetError, match="has no list of pairs"):
        load_pairs({}, locate(str(tmp_path)))
