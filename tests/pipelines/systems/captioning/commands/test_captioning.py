"""`vtr evaluate --task captioning` and `vtr caption` of a checkpoint that was never trained."""

import json
from pathlib import Path

import pytest

from pipelines.caption import CaptionFlags, caption
from pipelines.evaluate.command import main as evaluate_main
from pipelines.systems.captioning.caption_metrics import evaluate
from pipelines.systems.captioning.evaluate_captions import CaptioningFlags
from tests.builders.captioned import captioned_videos
from tests.builders.dual_checkpoints import saved_checkpoint
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, DatasetError

CAPTIONS = {
    "a": ["a man runs in the park", "a man is running"],
    "b<i>": ["a dog sleeps <script>alert(1)</script>", "the dog is sleeping"],
    "c": ["a woman sings a song"] * 7,
}
SMALL = {"model.hidden_dim": 8, "model.heads": 2, "model.mlp_dim": 16, "model.standardize": False}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return captioned_videos(tmp_path_factory.mktemp("captioned") / "test", CAPTIONS)


@pytest.fixture(scope="module")
def checkpoint(data: Manifest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved_checkpoint(tmp_path_factory.mktemp("model") / "c", data, "caption-msrvtt-tiny", SMALL)


def test_figures_are_printed_and_written(
    data: Manifest, checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    flags = ["--data", data.uri, "--no-meteor", "--out", str(out), "--task", "captioning", "--beams", "2"]
    evaluate_main([checkpoint, *flags])
    shown = " ".join(capsys.readouterr().out.split())
    assert "no METEOR: it was not asked for" in shown
    assert "captions cut into words by the tokenizer words" in shown
    found = json.loads(out.read_text())
    assert found["decoding"]["beams"] == 2
    written = found["sets"]["test"]
    assert {"test/cider", "test/bleu4", "test/rouge_l"} <= written["figures"].keys()
    assert written["captions"].keys() == written["cider_by_video"].keys() == CAPTIONS.keys()


def test_videos_without_references_are_described_but_not_measured(checkpoint: str, tmp_path: Path) -> None:
    some = captioned_videos(tmp_path / "some", {**CAPTIONS, "silent": []})
    (result,) = evaluate(CaptioningFlags(checkpoint, (some.uri,), meteor=False))
    assert result.figures.num_items == 3
    none = captioned_videos(tmp_path / "none", {"x": []})
    with pytest.raises(DatasetError, match="no video has a reference caption"):
        evaluate(CaptioningFlags(checkpoint, (none.uri,), meteor=False))
    videos = caption(CaptionFlags(checkpoint, none.uri, str(tmp_path / "out")))
    assert videos.hypotheses["x"]


def test_captions_are_lines_and_a_page_that_runs_nothing(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    caption(CaptionFlags(checkpoint, data.uri, str(tmp_path / "out")))
    lines = [json.loads(line) for line in (tmp_path / "out" / "captions.jsonl").read_text().splitlines()]
    assert {line["video_id"]: line["references"] for line in lines} == CAPTIONS
    assert all(line["caption"] and line["has_frames"] for line in lines)
    page = (tmp_path / "out" / "captions.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "b&lt;i&gt;" in page
    assert "2 more" in page


def test_examples_are_spread_and_their_number_is_checked(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    caption(CaptionFlags(checkpoint, data.uri, str(tmp_path / "out"), examples=2))
    assert (tmp_path / "out" / "captions.html").read_text().count("<article>") == 2
    with pytest.raises(ConfigError, match="--examples is 0"):
        caption(CaptionFlags(checkpoint, data.uri, str(tmp_path / "out"), examples=0))


def test_captions_of_another_corpus_are_refused(checkpoint: str, tmp_path: Path) -> None:
    other = captioned_videos(tmp_path / "other", {"a": ["ein mann läuft durch den park", "niemand schläft"]})
    with pytest.raises(DatasetError, match=r"the model knows 1 of 8 words of its captions, .*of another corpus"):
        evaluate(CaptioningFlags(checkpoint, (other.uri,), meteor=False))
