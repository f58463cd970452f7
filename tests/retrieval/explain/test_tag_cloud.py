"""Clouds: sizes follow values, and no two boxes overlap whatever the words are."""

import random
import string
from itertools import combinations

import pytest

from vtr_core.retrieval.explain.tag_cloud import LARGEST, SMALLEST, WIDTH, Tag, TagCloud, lay_out, text_width

HOSTILE = [
    "<script>alert(1)</script>",
    "שלום עולם",
    "مرحبا",
    "犬と猫",
    "🐕🐕🐕",
    "i" * 90,
    "W" * 90,
    "",
    "a\u202eb",
    "x\u0301" * 9,
]


def tags(count: int, seed: int) -> list[Tag]:
    drawn = random.Random(seed)
    names = ["".join(drawn.choices(string.ascii_letters + "/ ", k=drawn.randint(1, 24))) for _ in range(count)]
    return [Tag(name, drawn.random() ** 3, f"{drawn.random():.2f}") for name in names]


def overlapping(cloud: TagCloud) -> list[tuple[str, str]]:
    """Pairs of boxes that share more than a line's width of a hundredth."""
    return [
        (a.text, b.text)
        for a, b in combinations(cloud.tags, 2)
        if min(a.x + a.width, b.x + b.width) - max(a.x, b.x) > 0.02
        and min(a.y + a.height, b.y + b.height) - max(a.y, b.y) > 0.02
    ]


@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_two_boxes_overlap_and_all_lie_in_the_drawing(seed: int, with_values: bool) -> None:
    cloud = lay_out(tags(30, seed), with_values=with_values)
    assert len(cloud.tags) == 30
    assert overlapping(cloud) == []
    for one in cloud.tags:
        assert one.x >= -0.02
        assert one.x + one.width <= WIDTH + 0.02
        assert one.y >= -0.02
        assert one.y + one.height <= cloud.height + 0.02
        assert one.text_width <= one.width + 0.02


def test_hostile_words_keep_to_their_boxes() -> None:
    cloud = lay_out([Tag(name, 1.0 - i / 20, "1 %") for i, name in enumerate(HOSTILE)], with_values=True)
    assert overlapping(cloud) == []
    assert all(one.width <= WIDTH + 0.02 for one in cloud.tags)
    assert all(one.text_width > 0 and one.note_width > 0 for one in cloud.tags)


def test_overlap_is_noticed() -> None:
    """The check above would fail on boxes that lie on each other."""
    (one,) = lay_out([Tag("dog", 1.0, "1")]).tags
    assert overlapping(TagCloud(WIDTH, 20.0, (one, one))) == [("dog", "dog")]


def test_sizes_are_proportional_down_to_the_smallest() -> None:
    cloud = lay_out([Tag("cat", 0.5, ""), Tag("dog", 1.0, ""), Tag("egg", 0.01, "")])
    assert [(one.text, one.font_size) for one in cloud.tags] == [
        ("dog", LARGEST),
        ("cat", LARGEST / 2),
        ("egg", SMALLEST),
    ]


def test_the_layout_is_a_function_of_the_tags() -> None:
    assert lay_out(tags(12, 3)) == lay_out(tags(12, 3))
    ties = [Tag(name, 0.5, "") for name in ("b", "a", "c")]
    assert [one.text for one in lay_out(ties).tags] == ["b", "a", "c"]


def test_what_has_no_value_is_not_drawn() -> None:
    assert lay_out([]) == TagCloud(WIDTH, 0.0, ())
    assert lay_out([Tag("dog", 0.0, "0"), Tag("cat", -1.0, "-1")]).tags == ()


def test_wide_letters_count_more() -> None:
    assert text_width("iii") < text_width("aaa") < text_width("WWW") < text_width("犬犬犬")
    assert text_width("a\u0301") == text_width("a")
