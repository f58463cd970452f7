"""Rows are configurations that exist, and the page says what holds and what does not."""

from typing import Any

import pytest

from benchmarks.msrvtt_dual.command import ROWS, configuration
from benchmarks.msrvtt_dual.page import COLUMNS, markdown
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig

CAUSAL = next(name for name, row in ROWS.items() if row.preset == "hybrid-msrvtt-causal")


def _scored(way: str, better: float, seed: int) -> dict[str, float]:
    values = dict.fromkeys(COLUMNS, 10.0 * (seed + 1) + better)
    return values if way != "latent" else {name: v for name, v in values.items() if not name.startswith("c")}


def _run(name: str, seed: int) -> dict[str, Any]:
    ways = {"latent 2048": ["latent"], "hybrid 1536 + 512": ["hybrid, original", "hybrid, improved"]}.get(name, [])
    concepts = [] if name.startswith("latent") else ["concepts, original", "concepts, improved"]
    gains = {"hybrid, original": 3.0, "concepts, improved": 2.0, "latent": -1.0}
    figures = {way: _scored(way, gains.get(way, 0.0) + 0.01 * seed, seed) for way in [*ways, *concepts]}
    if name == CAUSAL:
        figures["concepts, original"]["c10"] = 60.0 + seed
    val = {"original/map": 10.0 + seed, "original/c10": 5.0, "improved/map": 11.0, "improved/c10": 9.0}
    return {"parameters": 1_500_000, "scored": figures, **({"validation": val} if concepts else {})}


@pytest.fixture
def figures() -> dict[str, Any]:
    return {
        "videos": {"train": 500, "val": 100, "test": 200},
        "rows": {name: [_run(name, seed) for seed in range(3)] for name in ROWS},
        "ridge": {"r1": 6.0, "r5": 20.0, "r10": 33.0, "medr": 24.0},
        "settings": {"batch.videos": 64},
        "seeds": 3,
        "machine": "a machine",
        "versions": {"torch": "2"},
        "command": "it",
    }


@pytest.mark.parametrize("name", list(ROWS))
def test_every_row_is_a_configuration_with_its_own_changes(name: str) -> None:
    config = configuration(ROWS[name], seed=2)
    assert config.seed == 2
    assert isinstance(config.model, HybridEncoderConfig)
    assert isinstance(config.loss, DualTripletConfig)
    assert (config.model.num_concepts is None) == name.startswith("latent")
    assert (config.loss.causality_weight > 0) == ("causality" in name)
    assert (config.model.concept_prior is not None) == ("prior" in name)
    if config.model.num_concepts:
        assert config.model.num_concepts == (256 if "256" in name else 512)


def test_the_page_has_every_row_and_judges_every_claim(figures: dict[str, Any]) -> None:
    page = markdown(figures)
    for name in ROWS:
        assert f"| {name} |" in page
    assert "| two spaces beat the latent one | mAP | +4.0 ± 0.0 | holds |" in page
    assert "| the transform raises the C@10 of Jaccard 512 | C@10 | +2.0 ± 0.0 | holds |" in page
    assert "| cosine beats Jaccard in mAP at 512 concepts | mAP | +0.0 ± 0.0 | undecided |" in page
    assert "500 / 100 / 200" in page
    assert "| 6.0 | 20.0 | 33.0 | 24.0 | – |" in page


def test_the_goal_needs_causality_on_test_and_no_loss_on_validation(figures: dict[str, Any]) -> None:
    def row() -> str:
        lines = markdown(figures).splitlines()
        return next(line for line in reversed(lines) if line.startswith(f"| {CAUSAL} | original |"))

    assert row().endswith("| reached |")
    figures["rows"][CAUSAL][0]["validation"]["original/map"] -= 0.1
    assert row().endswith("| no |")
