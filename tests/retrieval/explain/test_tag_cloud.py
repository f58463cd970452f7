"""Clouds: sizes follow values."""

import pytest

from vtr_core.retrieval.explain.explanation import LARGEST, SMALLEST, SizedTag, Tag, sized


def test_sizes_are_proportional_down_to_the_smallest() -> None:
    found = sized([Tag("cat", 0.5, ""), Tag("dog", 1.0, ""), Tag("egg", 0.01, "")])
    assert [(one.text, one.size) for one in found] == [("dog", LARGEST), ("cat", LARGEST / 2), ("egg", SMALLEST)]


def test_ties_stay_in_order() -> None:
    assert [one.text for one in sized([Tag(name, 0.5, "") for name in ("b", "a", "c")])] == ["b", "a", "c"]


def test_what_has_no_value_is_not_drawn() -> None:
    assert sized([]) == []
    assert sized([Tag("dog", 0.0, "0"), Tag("cat", -1.0, "-1")]) == []


def test_a_cloud_is_drawn_smaller_where_a_name_would_not_fit_into_a_line() -> None:
    long, short, other = Tag("about/preposition", 1.0, ""), Tag("man/noun", 0.8, ""), Tag("preposition/noun", 0.1, "")
    sizes = [one.size for one in sized([long, short, other])]
    assert sizes[0] * len(long.name) * 0.56 == pytest.approx(76, rel=0.01)
    assert sizes[1] == pytest.approx(0.8 * sizes[0], abs=0.01)
    assert sizes[2] == SMALLEST
    assert [one.size for one in sized([short, other])] == [LARGEST, SMALLEST]


def test_a_very_long_name_is_cut() -> None:
    (found,) = sized([Tag("W" * 90, 1.0, "1 %")])
    assert found == SizedTag(Tag("W" * 90, 1.0, "1 %"), "W" * 39 + "…", LARGEST)
