"""Every row has the same search on validation data, within the time that is left."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.capsule_ablation import search as searching
from benchmarks.capsule_ablation.rows import PRESET, ROWS, TRIALS
from benchmarks.capsule_ablation.search import Effort, OutOfTime, finished_rows, row_config, search_row
from benchmarks.capsule_ablation.worlds import WORLDS
from benchmarks.comparison.search import Searched
from vtr_core.run.config import TrainConfig

PLAIN = WORLDS["plain"]
ALWAYS, NEVER = float("inf"), float("-inf")


class _Runs:
    """In place of trainings: a row's second trial is the best on validation data and the worst on test data."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trained: list[tuple[str, int]] = []
        monkeypatch.setattr(searching, "_trained", self._trained)

    def _trained(
        self, variant: str, config: TrainConfig, data: str, out: str, seeds: int
    ) -> dict[str, Sequence[float]]:
        self.trained.append((variant, seeds))
        second = variant.endswith(list(TRIALS)[1].replace(", ", "-"))
        validation, test = (60.0, 10.0) if second else (50.0, 90.0)
        return {"val/t2v/r10": (validation,) * seeds, "test/t2v/r10": (test,) * seeds, "test/t2v/r1": (1.0,) * seeds}


def test_a_row_is_judged_on_other_data_than_it_is_chosen_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    row = search_row("routing-em", None, PLAIN, "data", str(tmp_path), Effort(200, 3, ALWAYS))
    assert row.best == list(TRIALS)[1]
    assert row.figures["t2v/r10"] == (10.0, 10.0, 10.0)
    assert [seeds for _, seeds in runs.trained] == [1] * len(TRIALS) + [1, 2, 3]


def test_a_widened_search_trains_what_is_new(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    first, *_, last = TRIALS
    old = {trial: 40.0 for trial in TRIALS if trial != last} | {first: 55.0}
    figures = {"t2v/r1": (2.0, 3.0), "t2v/r10": (20.0, 30.0)}
    known = Searched(old, first, figures)
    row = search_row("routing-em", known, PLAIN, "data", str(tmp_path), Effort(200, 2, ALWAYS))
    assert row == Searched(old | {last: 50.0}, first, figures)
    assert [seeds for _, seeds in runs.trained] == [1]  # of the last trial, which is no better
    assert search_row("routing-em", row, PLAIN, "data", str(tmp_path), Effort(200, 1, NEVER)) == row  # no seed is lost
    more = search_row("routing-em", row, PLAIN, "data", str(tmp_path), Effort(200, 3, ALWAYS))
    assert len(more.figures["t2v/r10"]) == 3


def test_no_training_begins_when_time_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    with pytest.raises(OutOfTime):
        search_row("routing-em", None, PLAIN, "data", str(tmp_path), Effort(200, 3, NEVER))
    assert runs.trained == []


def test_rows_that_time_does_not_reach_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _Runs(monkeypatch)
    for trial in TRIALS:
        done = tmp_path / "routing-none" / trial.replace(", ", "-") / "seed-0/figures-test.json"
        done.parent.mkdir(parents=True)
        done.touch()
    assert list(finished_rows(dict.fromkeys(ROWS), PLAIN, "data", str(tmp_path), Effort(200, 1, NEVER))) == [
        "routing-none"
    ]


@pytest.mark.parametrize("world", WORLDS)
def test_rows_are_variants_of_the_product_with_every_setting_of_world_and_trial(world: str) -> None:
    for row, network in ROWS.items():
        for trial, changes in TRIALS.items():
            config = row_config(row, trial, WORLDS[world], 7)
            assert config.preset == (PRESET if not network.variant else f"{PRESET}-{network.variant}")
            assert config.training.max_steps == 7
            assert config.optimizer.learning_rate == changes["optimizer.learning_rate"]
            assert config.training.metric.startswith(f"val/{WORLDS[world].direction}/")
