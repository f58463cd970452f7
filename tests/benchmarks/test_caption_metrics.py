"""The cost of captions' metrics is measured on a small release, and the page says what could not run."""

import json
from pathlib import Path

from benchmarks.caption_metrics import BENCHMARK
from vtr_core.metrics.captioning import java_missing


def test_the_page_has_every_metric(tmp_path: Path) -> None:
    texts = {"a": ["a man runs", "a man is running"], "b": ["a dog", "the dog sleeps", "a dog rests"], "c": ["alone"]}
    sentences = [{"video_id": name, "caption": text} for name, own in texts.items() for text in own]
    release = tmp_path / "release.json"
    release.write_text(json.dumps({"videos": [], "sentences": sentences}))
    BENCHMARK.main(["--annotations", str(release), "--out", str(tmp_path)])
    found = json.loads((tmp_path / "caption_metrics.json").read_text())
    page = (tmp_path / "caption_metrics.md").read_text()
    assert found["videos"] == 2
    assert found["references"] == 3
    java = set() if java_missing() else {"METEOR", "the Treebank tokeniser"}
    assert found["seconds"].keys() == {"BLEU", "ROUGE-L", "CIDEr"} | java
    assert "2 captions against 3, of MSR-VTT" in page
    assert (java_missing() or "| METEOR |") in page
