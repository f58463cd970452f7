"""Caption vectors are the factorised PPMI of words that share captions, in a file that the product reads."""

import math
from pathlib import Path

import numpy as np

from benchmarks.caption_vectors import SMOOTHING, caption_vectors, write_glove
from vtr_core.text.tokens.vocabulary import tokenise
from vtr_core.text.word_vectors import read_word_vectors

CAPTIONS = [
    "a man cooks rice",
    "a woman cooks a fish",
    "a man rides a horse",
    "a woman rides a horse",
    "rice and fish",
    "man and woman",
    "once",
]


def slow_ppmi(words: tuple[str, ...]) -> np.ndarray:
    documents = [set(tokenise(caption)) for caption in CAPTIONS]
    together = {(a, b): sum(a in d and b in d for d in documents) for a in words for b in words if a != b}
    total = {a: sum(together[a, b] for b in words if b != a) for a in words}
    smoothed = {a: total[a] ** SMOOTHING / sum(n**SMOOTHING for n in total.values()) for a in words}
    return np.array(
        [
            [
                max(0.0, math.log(together[a, b] / (total[a] * smoothed[b]))) if together.get((a, b)) else 0.0
                for b in words
            ]
            for a in words
        ]
    )


def test_vectors_are_those_of_slow_code() -> None:
    found = caption_vectors(CAPTIONS, dim=4, min_count=2, scale=0.3)
    assert found.words == ("a", "man", "woman", "and", "cooks", "fish", "horse", "rice", "rides")
    u, singular, _ = np.linalg.svd(slow_ppmi(found.words))
    expected = u[:, :4] * np.sqrt(singular[:4])
    expected *= 0.3 * np.sqrt(4) / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, expected @ expected.T, atol=1e-4)


def test_the_product_reads_what_is_written(tmp_path: Path) -> None:
    found = caption_vectors(CAPTIONS, dim=4, min_count=2)
    write_glove(found, tmp_path / "vectors.txt")
    read = read_word_vectors(str(tmp_path / "vectors.txt"))
    assert read.words == found.words
    np.testing.assert_allclose(read.vectors, found.vectors, atol=1e-5)
