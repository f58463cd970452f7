import random

import pytest

from tests.reference import concepts as reference
from vtr_core.text.statistics import caption_overlap


def test_a_caption_counts_once_for_every_further_video():
    found = caption_overlap([["a", "b", "a"], ["a", "A"], [], ["a", "b"]])
    assert (found.captions, found.surplus) == (7, 3)
    assert found.share == pytest.approx(3 / 7)
    assert caption_overlap([]).share == 0


def test_it_agrees_with_the_slow_reference():
    draw = random.Random(3)
    videos = [[f"caption {draw.randrange(40)}" for _ in range(draw.randrange(1, 9))] for _ in range(30)]
    assert caption_overlap(videos).share == pytest.approx(reference.overlap(videos))
