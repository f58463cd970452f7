"""Rows are compared seed by seed, a verdict needs a clear interval, and rows of an earlier page are kept."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import capsule_ablation
from benchmarks.capsule_ablation import (
    PRESET,
    ROWS,
    TRIALS,
    WORLDS,
    Flags,
    compare,
    known,
    markdown,
    row_config,
    search_row,
)
from benchmarks.comparison.search import Searched
from benchmarks.worlds import Splits
from vtr_core.run.config import TrainConfig

PLAIN = WORLDS["plain"]


def test_differences_are_paired_by_seed() -> None:
    figures = {
        "routing-self-attention": (50.0, 40.0, 30.0),
        "routing-dynamic": (49.0, 39.1, 28.9),
        "routing-none": (49.0, 42.0, 28.0),
        "routing-em": (60.0, 50.5, 39.5),
    }
    found = {(one.better, one.worse): one for one in compare(figures)}
    clear = found["routing-self-attention", "routing-dynamic"]
    assert clear.difference.mean == pytest.approx(1.0)  # the seeds differ by 20, the rows by 1
    assert clear.verdict == "holds"
    assert found["routing-self-attention", "routing-none"].verdict == "undecided"
    assert found["routing-self-attention", "routing-em"].verdict == "contradicted"
    assert ("base", "fully-connected") not in found  # nothing was measured of it


def test_the_page_says_what_every_trial_found_and_which_rows_were_not_run() -> None:
    figures = {"t2v/r1": (1.0, 3.0), "t2v/r10": (10.0, 30.0)}
    row = Searched(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), figures)
    page = markdown({"plain": {"routing-self-attention": row, "routing-none": row}}, 200, "python", ["a machine"])
    assert "; ".join(["12.3"] * len(TRIALS)) in page
    assert "**20.0 ± 127.1**" in page
    assert "| routing-self-attention − routing-none | +0.0 ± 0.0 | undecided |" in page
    assert page.count("not run") == len(ROWS) - 2
    assert "Rows: mean over seeds ± half of its 95 % t interval; differences: ± half of a 95 % t interval" in page


def test_rows_of_the_page_are_kept_unless_they_are_measured_again_or_of_another_size() -> None:
    row = asdict(Searched(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), {"t2v/r1": (1.0,), "t2v/r10": (10.0,)}))
    size = {"clips": 6000, "steps": 200, "seeds": 3}
    page = {**size, "worlds": {"plain": {"base": row, "routing-em": row}, "8 scenes": {"base": row}}}
    assert known(page, Flags(worlds=("plain",), only=("routing-em",))) == known(page, Flags())
    found = known(page, Flags(worlds=("plain",), only=("routing-em",), again=True))
    assert {world: list(rows) for world, rows in found.items()} == {"plain": ["base"], "8 scenes": ["base"]}
    assert known(page, Flags(seeds=5, worlds=())) == known(page, Flags(worlds=()))
    assert known(page, Flags(steps=201)) == {}
    assert known({}, Flags()) == {}


class _Runs:
    """In place of trainings: a row's second trial is the best on validation data and the worst on test data."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trained: list[tuple[str, int]] = []
        monkeypatch.setattr(capsule_ablation, "_trained", self._trained)

    def _trained(
        self, variant: str, config: TrainConfig, data: Splits, out: str, seeds: int
    ) -> dict[str, Sequence[float]]:
        self.trained.append((variant, seeds))
        second = variant.endswith(list(TRIALS)[1].replace(", ", "-"))
        validation, test = (60.0, 10.0) if second else (50.0, 90.0)
        return {"val/t2v/r10": (validation,) * seeds, "test/t2v/r10": (test,) * seeds, "test/t2v/r1": (1.0,) * seeds}


def test_a_row_is_judged_on_other_data_than_it_is_chosen_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    row = search_row("routing-em", None, PLAIN, {}, str(tmp_path), 200, 3)
    assert row.best == list(TRIALS)[1]
    assert row.figures["t2v/r10"] == (10.0, 10.0, 10.0)
    assert [seeds for _, seeds in runs.trained] == [1] * len(TRIALS) + [3]


def test_a_widened_search_trains_what_is_new(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    first, *_, last = TRIALS
    old = {trial: 40.0 for trial in TRIALS if trial != last} | {first: 55.0}
    figures = {"t2v/r1": (2.0, 3.0), "t2v/r10": (20.0, 30.0)}
    known = Searched(old, first, figures)
    row = search_row("routing-em", known, PLAIN, {}, str(tmp_path), 200, 2)
    assert row == Searched(old | {last: 50.0}, first, figures)
    assert [seeds for _, seeds in runs.trained] == [1]  # of the last trial, which is no better
    assert search_row("routing-em", row, PLAIN, {}, str(tmp_path), 200, 1) == row  # no seed is lost
    more = search_row("routing-em", row, PLAIN, {}, str(tmp_path), 200, 3)
    assert len(more.figures["t2v/r10"]) == 3


@pytest.mark.parametrize("world", WORLDS)
def test_rows_are_variants_of_the_product_with_every_setting_of_world_and_trial(world: str) -> None:
    for row, network in ROWS.items():
        for trial, changes in TRIALS.items():
            config = row_config(row, trial, WORLDS[world], 7)
            assert config.preset == (PRESET if not network.variant else f"{PRESET}-{network.variant}")
            assert config.training.max_steps == 7
            assert config.optimizer.learning_rate == changes["optimizer.learning_rate"]
            assert config.training.metric.startswith(f"val/{WORLDS[world].direction}/")
