"""The comparison of CIDEr-D runs small, and all forms find the same."""

import json
from pathlib import Path

from benchmarks.cider import BENCHMARK


def test_comparison_runs_and_is_written(tmp_path: Path) -> None:
    BENCHMARK.main(["--references", "40", "400", "--plain", "40", "--out", str(tmp_path)])
    runs = json.loads((tmp_path / "cider.json").read_text())["runs"]
    assert "plain" in runs["40"]["seconds"]
    assert "plain" not in runs["400"]["seconds"]
    assert all(run["difference"] < 1e-9 and run["seconds"]["ours"] > 0 for run in runs.values())
    assert "| 400 |" in (tmp_path / "cider.md").read_text()
