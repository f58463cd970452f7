"""The page has the tables of `vtr tables thesis`, and judges what the thesis says by runs with the same seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.msrvtt_dual.__main__ import NAMES, SMALLER, TABLES, _settings, _take_over, markdown
from benchmarks.msrvtt_dual.data import PRESET
from pipelines.systems.dual.thesis_rows import PAPER, Sets, training
from pipelines.tables.runs import variant_configs
from vtr_core.systems.dual.config import HybridEncoderConfig

TABLES_PAGE = """# Tables

head

## Table 3.2: MSR-VTT

| Method | SumR |
| --- | ---: |
| trained | 211.7 → **142.0** |
| not trained | 210.2 |
"""


def _row(space: str, sum_r: float, seeds: int = 3) -> dict[str, list[float]]:
    return {f"msrvtt/{space}/sum_r": [sum_r + 10 * seed for seed in range(seeds)]}


@pytest.fixture
def figures() -> dict[str, Any]:
    return {
        "videos": [500, 100, 200],
        "rows": {
            "": {**_row("two spaces", 150), **_row("latent", 140)},
            "latent": {"msrvtt/latent/sum_r": [149.0, 158.0, 167.0]},
            "concept": {**_row("concept", 150, seeds=2), "msrvtt/concepts, original/c10": [3.0, 4.0]},
        },
        "settings": {"batch.videos": 64},
        "device": "a machine",
        "versions": {"torch": "2"},
        "command": "it",
    }


@pytest.mark.parametrize("row", NAMES)
def test_every_row_is_one_of_the_tables_and_takes_the_settings(row: str) -> None:
    assert row in {one.variant for table in PAPER.tables if table.number in TABLES for one in table.rows}
    (config,) = variant_configs(PRESET, [training(row)[0]], SMALLER).values()
    assert isinstance(config.model, HybridEncoderConfig)
    assert config.batch.videos == SMALLER["batch.videos"]


def test_differences_are_of_the_same_seeds_and_rows_without_figures_have_none(figures: dict[str, Any]) -> None:
    page = markdown(figures, TABLES_PAGE)
    assert "| two spaces − latent | SumR | +2.0 ± 2.5 | 3 | undecided |" in page
    assert "| two spaces − concepts alone | SumR | +0.0 ± 0.0 | 2 | undecided |" in page
    assert "parts of speech − none" not in page
    assert "improved − original" not in page


def test_new_seeds_stand_apart_and_are_judged_one_by_one(figures: dict[str, Any]) -> None:
    ways = {"original": (13.0, 3.0), "causal": (12.0, 90.0), "kept": (14.0, 50.0), "enough": (13.5, 71.0)}
    named = {"map": 0, "c10": 1}
    row = {f"msrvtt/concepts, {w}/{n}": [v[i], v[i] + 1] for w, v in ways.items() for n, i in named.items()}
    page = markdown({**figures, "new_seeds": {"seeds": [10, 11], "rows": {"concept": row}}}, TABLES_PAGE)
    usual, again = page.split("## New seeds")
    assert "seeds 10, 11," in again
    assert "enough − original" not in usual
    assert "| concepts alone: enough − original | mAP | +0.5 ± 0.0 | 2 | holds |" in again
    assert "| concepts alone | enough | 71.0, 72.0 | 13.5, 14.5 | 13.0, 14.0 | 2 of 2 |" in again
    assert "| concepts alone | causal | 90.0, 91.0 | 12.0, 13.0 | 13.0, 14.0 | 0 of 2 |" in again


@pytest.mark.parametrize("videos", [[500, 100, 200], [500, 100, 201]])
def test_figures_of_the_page_are_those_of_finished_runs_where_the_data_is_the_same(
    videos: list[int], figures: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.msrvtt_dual.__main__._videos", lambda _: videos)
    (tmp_path / "page.json").write_text(json.dumps({**figures, "settings": _settings()}))
    _take_over(tmp_path / "page.json", tmp_path / "tables", Sets("train", "val", "test", "concepts"))
    kept = {str(file.parent.relative_to(tmp_path / "tables")): file for file in tmp_path.rglob("figures-msrvtt.json")}
    if videos != figures["videos"]:
        assert not kept
        return
    rows = {"base": 3, "latent": 3, "concept": 2}
    assert set(kept) == {f"{row}/seed-{seed}" for row, seeds in rows.items() for seed in range(seeds)}
    found = json.loads(kept["concept/seed-1"].read_text())["figures"]
    assert found == {"msrvtt/concept/sum_r": 160.0, "msrvtt/concepts, original/c10": 4.0}
