"""Normalised figures are those of the normalised matrix; a hub that plain retrieval falls for is corrected."""

import numpy as np
import pytest
import torch

from tests.builders.toy import toy_dataset
from tests.reference import normalization as reference
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import evaluate_retrieval
from vtr_core.errors import ConfigError
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.retrieval.evaluate.protocols import (
    Bank,
    check_bank,
    evaluate_dual_softmax,
    evaluate_query_bank,
    sample_captions,
)

RNG = np.random.default_rng(3)
VIDEO = RNG.standard_normal((30, 6)).astype(np.float32)
TEXT = (VIDEO + RNG.standard_normal((30, 6))).astype(np.float32)


def rows(text=TEXT, known=None):
    present = np.ones(len(text), bool) if known is None else known
    vectors = {"text": np.where(present[:, None], text, 0), "video": VIDEO}
    keys = np.arange(len(text))
    return EmbeddedRows(vectors, {"text": present, "video": np.ones(len(text), bool)}, keys, keys)


def cosines(a, b):
    a, b = (x.astype(np.float64) / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    return a @ b.T


def figures(directions):
    return {direction.name: direction.metrics for direction in directions}


def test_dual_softmax_figures_are_those_of_the_product():
    found = figures(evaluate_dual_softmax(rows(), "cosine", 0.1))
    plain = cosines(TEXT, VIDEO)
    for name, scores in (("t2v", plain), ("v2t", plain.T)):
        expected = retrieval_metrics(reference.dual_softmax(scores, 0.1))
        assert found[name].recall == expected.recall
        assert found[name].mean_rank == expected.mean_rank
        assert found[name].recall != figures(evaluate_retrieval(rows(), "cosine"))[name].recall


def test_captions_without_a_known_word_do_not_weigh_in_the_softmax():
    known = np.arange(30) % 5 != 0
    found = figures(evaluate_dual_softmax(rows(known=known), "cosine", 0.1))["t2v"]
    answered = reference.dual_softmax(cosines(TEXT[known], VIDEO), 0.1)
    relevant = np.eye(30, dtype=bool)[known]
    expected = retrieval_metrics(answered, relevant)
    assert found.num_queries == 30
    assert found.recall[5] == pytest.approx(expected.recall[5] * known.mean())


def test_query_bank_figures_are_those_of_the_inverted_softmax():
    bank = RNG.standard_normal((12, 6)).astype(np.float32)
    found = figures(evaluate_query_bank(rows(), "cosine", Bank(torch.from_numpy(bank), "elsewhere"), 0.1))
    expected = retrieval_metrics(reference.query_bank(cosines(TEXT, VIDEO), cosines(bank, VIDEO), 0.1))
    assert found.keys() == {"t2v"}  # captions can be no bank for queries of video
    assert found["t2v"].recall == expected.recall
    assert found["t2v"].mean_rank == expected.mean_rank


def test_a_hub_is_corrected():
    """Video 0 is near to every caption; both corrections find the others again."""
    video = np.eye(4, dtype=np.float32)
    video[0] = 1.0
    text = np.eye(4, dtype=np.float32) + np.array([0.4, 0.2, 0.2, 0.2], np.float32)
    hub = EmbeddedRows(
        {"text": text, "video": video}, dict.fromkeys(("text", "video"), np.ones(4, bool)), *[np.arange(4)] * 2
    )
    assert figures(evaluate_retrieval(hub, "dot"))["t2v"].recall[1] == 0.25
    assert figures(evaluate_dual_softmax(hub, "dot", 0.1))["t2v"].recall[1] == 1.0
    bank = Bank(torch.from_numpy(text[::-1] * np.float32(0.9)), "elsewhere")
    assert figures(evaluate_query_bank(hub, "dot", bank, 0.1))["t2v"].recall[1] > 0.25


def test_a_bank_is_drawn_with_a_seed_and_never_from_the_test_set(tmp_path):
    bank, tested = (toy_dataset(tmp_path / name, clips)[0] for name, clips in (("a", [4, 3, 5]), ("b", [1, 2])))
    every = sample_captions(bank, 100, 0)
    assert sorted(every) == ["video number0"] * 4 + ["video number1"] * 3 + ["video number2"] * 5
    draws = [sample_captions(bank, 5, seed) for seed in range(6)]
    assert {len(draw) for draw in draws} == {5}
    assert draws[0] == sample_captions(bank, 5, 0)
    assert len({tuple(draw) for draw in draws}) > 1
    check_bank(bank, [tested])
    with pytest.raises(ConfigError, match="is the data set that is evaluated"):
        check_bank(bank, [tested, bank])
