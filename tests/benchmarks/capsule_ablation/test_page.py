"""Rows are compared seed by seed, a verdict needs a clear interval, and rows of an earlier page are kept."""

from dataclasses import asdict

import pytest

from benchmarks.capsule_ablation.command import Flags, known
from benchmarks.capsule_ablation.page import markdown
from benchmarks.capsule_ablation.rows import CLAIMS, ROWS, TRIALS, compare
from benchmarks.comparison.search import Searched


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


def test_claims_are_about_rows() -> None:
    assert {name for claim in CLAIMS for name in claim} <= set(ROWS)


def test_the_page_says_what_every_trial_found_and_which_rows_were_not_run() -> None:
    figures = {"t2v/r1": (1.0, 3.0), "t2v/r10": (10.0, 30.0)}
    row = Searched(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), figures)
    page = markdown({"plain": {"routing-self-attention": row, "routing-none": row}}, 200, "python", ["a machine"])
    assert "; ".join(["12.3"] * len(TRIALS)) in page
    assert "**20.0 ± 127.1**" in page
    assert "| routing-self-attention − routing-none | +0.0 ± 0.0 | undecided |" in page
    assert page.count("not run") == len(ROWS) - 2
    assert "Rows: mean over seeds ± half of its 95 % t interval; differences: ± half of a 95 % t interval" in page


def test_one_seed_has_no_spread() -> None:
    row = Searched(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), {"t2v/r1": (1.0,), "t2v/r10": (10.0,)})
    page = markdown({"plain": {"routing-self-attention": row, "routing-none": row}}, 200, "python", ["a machine"])
    assert "| routing-self-attention − routing-none | +0.0 | undecided |" in page
    assert "| 1 | 1.0 | **10.0** |" in page


def test_a_world_is_judged_by_its_own_direction() -> None:
    row = Searched(dict.fromkeys(TRIALS, 12.3), next(iter(TRIALS)), {"v2a/r1": (1.0, 3.0), "v2a/r10": (11.0, 11.0)})
    page = markdown({"AVLetters": {"base": row, "fully-connected": row}}, 200, "python", ["a machine"])
    assert "| base − fully-connected | +0.0 ± 0.0 | undecided |" in page
    assert "**11.0 ± 0.0**" in page
    assert "\nOn a machine; torch " in page


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
