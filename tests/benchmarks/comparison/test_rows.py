"""Rows that are searched are chosen on validation data and judged on test data, and the page says what was tried."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.comparison import rows
from benchmarks.comparison.rows import markdown, search_rows
from benchmarks.muse_worlds import MSRVTT
from pipelines.tables.layout import Results
from pipelines.tables.runs import Sweep
from vtr_core.run.config import TrainConfig

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
