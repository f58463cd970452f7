"""The page of published sizes: what was run stands beside chance, and what was not is named."""

from math import log

import pytest

from benchmarks.published_sizes import CONTRAST, PUBLISHED, chance_loss, losses, markdown
from vtr_core.config.override import override
from vtr_core.run.presets import preset

ONE = {
    "world": "a data set",
    "settings": ["batch.videos=8"],
    "steps": 150,
    "chance": 33.3,
    "losses": {"1": 33.0, "100": 12.0, "150": 9.0},
    "figures": {"R@1": 17.7, "MedR": 11.0},
    "guessed": {"R@1": 0.1, "MedR": 537.0},
    "step_s": 3.1,
    "memory_gb": 4.0,
    "machine": "a machine",
}


def test_each_preset_has_a_row() -> None:
    page = markdown({"capsule-howto": ONE})
    assert "| `capsule-howto` | a data set | `batch.videos=8` |" in page
    assert "33.00 (1) → 12.00 (100) → 9.00 (150) | 33.30 | R@1 17.7 (0.1), MedR 11.0 (537.0) | 3.10 | 4.0 |" in page
    assert page.count("not run") == len(PUBLISHED) - 1


def test_losses_are_taken_where_training_came() -> None:
    points = [{"step": step, "train/loss": float(step)} for step in range(1, 202)]
    assert losses(points, "train/loss") == {"1": 1.0, "100": 98.0, "201": 199.0}


def test_the_chance_of_a_contrast_has_its_weight() -> None:
    config = override(preset("caption-msrvtt"), {"batch.videos": 64, "loss.score.weight": 0.1})
    assert chance_loss(config, {CONTRAST: 0.42}) == pytest.approx(0.1 * log(64))
    assert chance_loss(config, {}) is None
    assert chance_loss(preset("capsule-howto"), {"train/chance": 28.25}) == 28.25
