"""The baseline's figures are the product's, and it solves a world that is linear."""

import numpy as np
import pytest

from benchmarks.comparison import ridge
from benchmarks.comparison.ridge import Captioned, all_fits, retrieval_figures, selected
from vtr_core.metrics.ranking import retrieval_metrics

WORDS = [f"word{i}" for i in range(12)]


def videos(number: int, seed: int) -> Captioned:
    """Every video shows three things of twelve, its features a fixed linear map of them; two captions each."""
    rng = np.random.default_rng(seed)
    shown = np.stack([rng.permutation(12) < 3 for _ in range(number)])
    weights = np.random.default_rng(99).normal(size=(12, 16))
    captions = [" ".join(np.array(WORDS)[row]) for row in shown for _ in range(2)]
    return Captioned(shown @ weights, tuple(captions), np.arange(number).repeat(2))


def test_figures_are_those_of_the_product() -> None:
    rng = np.random.default_rng(0)
    # Without ties: the product shares a tie out over its ranks, the baseline takes the middle one.
    scores, relevant = rng.permutation(360).reshape(30, 12).astype(float), rng.integers(0, 12, size=30)
    found = retrieval_figures(scores, relevant)
    ours = retrieval_metrics(scores, np.eye(12, dtype=bool)[relevant])
    assert found == pytest.approx({**{f"r{k}": 100 * v for k, v in ours.recall.items()}, "medr": ours.median_rank})


def test_it_solves_a_linear_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge, "LSA_DIMS", (4, 12))
    monkeypatch.setattr(ridge, "ALPHAS", (0.1, 1000.0))
    fits = all_fits(videos(200, 0), videos(40, 1), videos(40, 2), ())
    assert len(fits) == 2 * 2 * 2
    best = selected(fits)
    assert (best.lsa_dim, best.alpha) == (12, 0.1)
    assert best.test["r5"] > 95
    assert best.validation["r10"] == max(fit.validation["r10"] for fit in fits)
