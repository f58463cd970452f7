"""Information content of captions, and captions that videos share."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import captioning as slow_captioning
from tests.reference import concepts as slow_concepts
from vtr_core.errors import DatasetError
from vtr_core.text.statistics import caption_overlap, information

words = st.lists(st.sampled_from("abcd"), max_size=7)
corpora = st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=4)


def joined(values: list[list[float]]) -> list[float]:
    return [value for texts in values for value in texts]


def flat(documents: list[list[list[str]]]) -> tuple[list[list[str]], np.ndarray]:
    document = np.repeat(np.arange(len(documents)), [len(texts) for texts in documents])
    return [text for texts in documents for text in texts], document


@settings(max_examples=60)
@given(corpora)
def test_readings_are_those_of_plain_code(documents: list[list[list[str]]]) -> None:
    captions, document = flat(documents)
    corpus = joined(slow_captioning.against_corpus(documents))
    assert information(captions, document, "corpus") == pytest.approx(corpus, abs=1e-12)
    assert information(captions, document, "idf") == pytest.approx(
        joined(slow_captioning.idf_mass(documents)), abs=1e-12
    )
    others = joined(slow_captioning.leave_one_out(documents))
    defined = [value for value in others if not math.isnan(value)]
    if not defined:
        with pytest.raises(DatasetError, match="no video has two captions"):
            information(captions, document, "leave_one_out")
        return
    mean = sum(defined) / len(defined)
    expected = [mean if math.isnan(value) else value for value in others]
    assert information(captions, document, "leave_one_out") == pytest.approx(expected, abs=1e-12)


def test_a_common_sentence_and_a_rare_one() -> None:
    documents = [
        [["a", "man", "sings"], ["a", "man", "sings", "loudly"], ["an", "alpaca", "juggles", "torches"]],
        [["a", "dog", "runs"], ["a", "dog", "runs", "fast"]],
    ]
    captions, document = flat(documents)
    others = information(captions, document, "leave_one_out")
    assert others[0] > others[2] == 0.0
    rare = information(captions, document, "idf")
    assert rare[2] > rare[0]


def test_a_caption_counts_once_for_every_further_video():
    found = caption_overlap([["a", "b", "a"], ["a", "A"], [], ["a", "b"]])
    assert (found.captions, found.surplus) == (7, 3)
    assert found.share == pytest.approx(3 / 7)
    assert caption_overlap([]).share == 0


def test_it_agrees_with_the_slow_reference():
    draw = random.Random(3)
    videos = [[f"caption {draw.randrange(40)}" for _ in range(draw.randrange(1, 9))] for _ in range(30)]
    assert caption_overlap(videos).share == pytest.approx(slow_concepts.overlap(videos))
