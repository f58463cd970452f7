"""The learners' benchmark runs small, leaves out what would need too much, and its page divides by Mamba's."""

import json
from pathlib import Path

import pytest

from benchmarks.muse import BENCHMARK


@pytest.mark.long
def test_every_learner_is_measured_and_what_needs_too_much_is_left_out(tmp_path: Path) -> None:
    small = ["--frames", "1", "2", "12", "--layers", "1", "--dim", "16", "--repeats", "1", "--device", "cpu"]
    BENCHMARK.main([*small, "--learners", "mamba", "transformer", "--limit-gb", "0.5", "--out", str(tmp_path)])
    figures = json.loads((tmp_path / "muse.json").read_text())
    by_name = {(one["learner"], one["frames"]): one for one in figures["steps"]}
    assert by_name["transformer", 12]["peak_gb"] is None
    assert by_name["transformer", 2]["peak_gb"] > 3 * by_name["transformer", 1]["peak_gb"]
    assert by_name["mamba", 12]["peak_gb"] < 7 * by_name["mamba", 2]["peak_gb"]
    assert [one["learner"] for one in figures["learners"]] == ["mamba", "transformer"]
    page = (tmp_path / "muse.md").read_text()
    assert "| 12 | 3,060 | transformer | too much | – | too much | – |" in page
    assert "| 2 | 510 | mamba |" in page
