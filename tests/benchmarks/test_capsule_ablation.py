"""Every row has the same search, rows are compared seed by seed, and a verdict needs a clear interval."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import capsule_ablation
from benchmarks.capsule_ablation import CLAIMS, PRESET, ROWS, TRIALS, WORLDS, Flags, Row, compare, markdown
from vtr_core.data.worlds.clips import SyntheticSettings
from vtr_core.run.config import TrainConfig


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


def test_one_seed_decides_nothing() -> None:
    figures = {"routing-self-attention": (50.0,), "routing-dynamic": (10.0,)}
    (one,) = [d for d in compare(figures) if d.worse == "routing-dynamic"]
    assert one.verdict == "undecided"


class _Runs:
    """In place of trainings: a row's second trial is the best on validation data and the worst on test data."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trained: list[tuple[str, int]] = []
        monkeypatch.setattr(capsule_ablation, "_trained", self._trained)

    def _trained(
        self, variant: str, config: TrainConfig, data: str, out: str, seeds: int
    ) -> dict[str, Sequence[float]]:
        self.trained.append((variant, seeds))
        second = variant.endswith(list(TRIALS)[1].replace(", ", "-"))
        validation, test = (60.0, 10.0) if second else (50.0, 90.0)
        return {"val/t2v/r10": (validation,) * seeds, "test/t2v/r10": (test,) * seeds, "test/t2v/r1": (1.0,) * seeds}


def test_a_row_is_judged_on_other_data_than_it_is_chosen_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    row = capsule_ablation.search("routing-em", "data", str(tmp_path), Flags(seeds=3), until=float("inf"))
    assert row.best == list(TRIALS)[1]
    assert row.figures["t2v/r10"] == (10.0, 10.0, 10.0)
    assert [seeds for _, seeds in runs.trained] == [1] * len(TRIALS) + [1, 2, 3]


def test_no_training_begins_when_time_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = _Runs(monkeypatch)
    with pytest.raises(capsule_ablation.OutOfTime):
        capsule_ablation.search("routing-em", "data", str(tmp_path), Flags(), until=float("-inf"))
    assert runs.trained == []


def test_rows_and_worlds_are_those_of_the_product() -> None:
    names = {name for claim in CLAIMS for name in claim}
    assert names <= set(ROWS)
    for row in ROWS:
        for trial in TRIALS:
            config = capsule_ablation.row_config(row, trial, 7)
            assert config.preset == (PRESET if row == "base" else f"{PRESET}-{ROWS[row].variant}")
            assert config.training.max_steps == 7
    for world in WORLDS.values():
        SyntheticSettings.model_validate(world)


def test_the_page_says_what_every_trial_found() -> None:
    figures = {"t2v/r1": (1.0, 3.0), "t2v/r10": (10.0, 30.0)}
    row = Row(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), figures)
    page = markdown({"plain": {"routing-self-attention": row, "routing-none": row}}, Flags(seeds=2))
    assert "; ".join(["12.3"] * len(TRIALS)) in page
    assert "**20.0 ± 127.1**" in page
    assert "| routing-self-attention − routing-none | +0.0 ± 0.0 | undecided |" in page


def test_rows_that_time_does_not_reach_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _Runs(monkeypatch)
    monkeypatch.setattr(capsule_ablation, "_data", lambda *_: str(tmp_path))
    flags = Flags(work=str(tmp_path), seeds=1)
    for trial in TRIALS:
        done = tmp_path / "plain/runs/routing-none" / trial.replace(", ", "-") / "seed-0/figures-test.json"
        done.parent.mkdir(parents=True)
        done.touch()
    rows = capsule_ablation._world("plain", flags, until=float("-inf"))
    assert list(rows) == ["routing-none"]
    assert markdown({"plain": rows}, flags).count("not run") == len(ROWS) - 1


def test_rows_of_the_page_are_kept_unless_they_are_measured_or_of_another_size() -> None:
    row = asdict(Row(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), {"t2v/r1": (1.0,), "t2v/r10": (10.0,)}))
    size = {"clips": 6000, "steps": 200, "seeds": 3}
    page = {**size, "worlds": {"plain": {"base": row, "routing-em": row}, "8 scenes": {"base": row}}}
    found = capsule_ablation.known(page, Flags(worlds=("plain",), only=("routing-em",)))
    assert {world: list(rows) for world, rows in found.items()} == {"plain": ["base"], "8 scenes": ["base"]}
    assert capsule_ablation.known(page, Flags(seeds=5, worlds=())) == capsule_ablation.known(page, Flags(worlds=()))
    assert capsule_ablation.known(page, Flags(steps=201)) == {}
    assert capsule_ablation.known({}, Flags()) == {}
