"""Where a concept table's time goes: a small release's training captions are timed, and the shares are of the whole."""

import json
from pathlib import Path

import pytest

from benchmarks.concepts import BENCHMARK


def test_every_part_of_the_work_is_timed(tmp_path: Path) -> None:
    videos = [{"video_id": f"video{i}", "split": "train" if i else "test"} for i in range(4)]
    sentences = [{"video_id": f"video{i % 4}", "caption": f"a dog runs past {i // 8} cars"} for i in range(24)]
    release = tmp_path / "release.json"
    release.write_text(json.dumps({"videos": videos, "sentences": sentences}))
    BENCHMARK.main(["--annotations", str(release), "--out", str(tmp_path)])
    found = json.loads((tmp_path / "concepts.json").read_text())
    assert (found["captions"], found["distinct"]) == (18, 3)
    assert set(found["components"]) == {"words", "tok2vec", "morphologizer", "lemmatiser"}
    rows = [line.split("|") for line in (tmp_path / "concepts.md").read_text().splitlines() if line.startswith("| t")]
    parts = [float(row[3]) for row in rows if "nothing cached" not in row[1] and "before" not in row[1]]
    assert sum(parts) == pytest.approx(1.0, abs=0.05)
