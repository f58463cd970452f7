import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import captioning as reference
from vtr_core.errors import DatasetError
from vtr_core.text.statistics import information

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
    corpus = joined(reference.against_corpus(documents))
    assert information(captions, document, "corpus") == pytest.approx(corpus, abs=1e-12)
    assert information(captions, document, "idf") == pytest.approx(joined(reference.idf_mass(documents)), abs=1e-12)
    others = joined(reference.leave_one_out(documents))
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
