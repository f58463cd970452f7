"""A trained network finds held-out MSR-VTT videos better than ridge regression does; the benchmark in short."""

from pathlib import Path

import pytest

from benchmarks.comparison.ridge import selected
from benchmarks.msrvtt_ridge import Text, allowed_text, msrvtt, prepare, ridge, train_one

pytestmark = [pytest.mark.real, pytest.mark.integration, pytest.mark.long]
SHORT = {
    "training.epochs": 25,
    "batch.clips_per_video": 2,
    "optimizer.learning_rate": 3e-3,
    "model.input_dropout": 0.4,
    "model.words.dropout": 0.3,
}


def test_the_network_beats_ridge(shared_data: Path, tmp_path: Path, local_ray: None) -> None:
    source = msrvtt(shared_data)
    text = allowed_text(source, split_seed=0)
    assert len(text.more) == 9200 * 20
    sets = prepare(source, text, tmp_path, split_seed=0)
    assert {split: manifest.rows for split, manifest in sets.items()} == {
        split: 20 * manifest.videos for split, manifest in sets.items()
    }
    trained = train_one(sets, tmp_path / "run", seed=0, changes=SHORT)
    baseline = selected(ridge(sets, Text(text.train, ()))["training captions"])
    assert baseline.test["r10"] > 30  # a baseline worth beating: chance is 5
    assert trained.test["r10"] > 1.03 * baseline.test["r10"]
