"""The comparison's baseline has the product's figures; rows are chosen on validation and judged on test data."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.comparison import ridge, rows
from benchmarks.comparison.ridge import Captioned, all_fits, retrieval_figures, selected
from benchmarks.comparison.rows import markdown, search_rows
from benchmarks.muse_worlds import MSRVTT
from pipelines.tables.layout import Results
from pipelines.tables.runs import Sweep
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.run.config import TrainConfig

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


SEARCHED = replace(MSRVTT, trials={f"rate {rate:g}": {"optimizer.learning_rate": rate} for rate in (1e-3, 4e-3)})
FOUND = {1e-3: (50.0, 30.0), 4e-3: (60.0, 20.0)}
"""By learning rate R@10 on validation and on test data; the gain on one is a loss on the other."""


class _Trained:
    """In place of trainings: remembers them, and gives the figures of `FOUND`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.configs: dict[str, TrainConfig] = {}
        self.seeds: dict[str, int] = {}
        monkeypatch.setattr(Sweep, "run", lambda sweep, variant, config: self._run(sweep, variant, config))
        monkeypatch.setattr(rows, "read_results", self._read)

    def _run(self, sweep: Sweep, variant: str, config: TrainConfig) -> None:
        self.configs[variant], self.seeds[variant] = config, sweep.seeds

    def _read(self, out: str, variants: Sequence[str], sets: Sequence[Any], seeds: int) -> Results:
        assert (out, [(one.name, one.uri) for one in sets]) == ("out", [("val", "v"), ("msrvtt-800", "t")])
        figures = {}
        for variant in variants:
            values = FOUND[self.configs[variant].optimizer.learning_rate]
            figures[variant] = {
                f"{one.name}/{metric}": (value,) * seeds
                for one, value in zip(sets, values, strict=True)
                for metric in MSRVTT.metrics
            }
        return Results(figures, {"msrvtt-800/t2v/r10": 5.1})


def test_a_row_is_judged_on_other_data_than_it_is_chosen_on(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = _Trained(monkeypatch)
    results, searches = search_rows(SEARCHED, {"train": "a", "val": "v", "test": "t"}, "out", 3, {}, "e")
    assert {one.best for one in searches.values()} == {"rate 0.004"}
    assert results.figures["frames-1"]["msrvtt-800/t2v/r10"] == (20.0, 20.0, 20.0)
    assert results.chance == {"msrvtt-800/t2v/r10": 5.1}
    assert {variant: seeds for variant, seeds in trained.seeds.items() if variant.startswith("frames-1/")} == {
        "frames-1/rate 0.001": 1,
        "frames-1/rate 0.004": 3,
    }
    page = markdown(SEARCHED, results, searches)
    assert "| R@10 on validation data, seed 0 | rate 0.001 | rate 0.004 |" in page
    assert "| frames-1 | 50.0 | **60.0** |" in page
    assert "| frames-1 | mean-pooling | +0.0 ± 0.0 | undecided |" in page
