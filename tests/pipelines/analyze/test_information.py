import json
from pathlib import Path

import pytest

from pipelines.analyze.command import main
from pipelines.analyze.information import InformationFlags, analyze
from tests.builders.captioned import captioned_videos
from vtr_core.errors import ConfigError, DatasetError, InputError

CAPTIONS = {
    "a": ["a man runs", "a man runs", "a man is running", "an alpaca juggles"],
    "b": ["a dog sleeps", "the dog sleeps"],
    "c": ["[bold]nobody[/bold]"],
}


def corpus(folder: Path) -> str:
    place = folder / "captions.json"
    place.write_text(json.dumps(CAPTIONS))
    return str(place)


def test_figure_and_values(tmp_path: Path) -> None:
    out = tmp_path / "out"
    main(["information", corpus(tmp_path), "--videos", "all", "--out", str(out), "--top", "2"])
    found = json.loads((out / "information.json").read_text())["readings"]
    assert [one["reading"] for one in found] == ["leave_one_out", "corpus", "idf"]
    first = found[0]
    assert (first["videos"], first["captions"]) == (3, 7)
    assert sum(first["sentences"]["counts"]) == 6
    assert sum(first["by_video"]["counts"]) == 3
    assert first["lowest"][0]["caption"] == "an alpaca juggles"
    assert first["highest"][0]["caption"] == "a dog sleeps"
    assert len(first["highest"]) == 2
    assert (out / "figures" / "information.png").read_bytes().startswith(b"\x89PNG")


def test_the_training_split_alone_is_read(tmp_path: Path) -> None:
    captioned_videos(tmp_path / "set" / "train", {"a": CAPTIONS["a"], "silent": []})
    captioned_videos(tmp_path / "set" / "test", {"b": CAPTIONS["b"]})
    flags = InformationFlags(str(tmp_path / "set"), str(tmp_path / "out"), reading=("idf",))
    (found,) = analyze(flags)
    assert (found["videos"], found["captions"]) == (1, 4)
    listed = tmp_path / "train.txt"
    listed.write_text("b 1\n\na\n")
    (found,) = analyze(InformationFlags(corpus(tmp_path), str(tmp_path / "o2"), str(listed), ("idf",)))
    assert found["videos"] == 2


def test_annotations_of_msrvtt_have_their_own_split(tmp_path: Path) -> None:
    videos = [
        {"video_id": f"video{i}", "split": split, "start time": 0.0, "end time": 1.0}
        for i, split in enumerate(("train", "validate", "train"))
    ]
    sentences = [{"video_id": f"video{i}", "caption": text} for i in range(3) for text in ("a man runs", "a man")]
    place = tmp_path / "train_val_videodatainfo.json"
    place.write_text(json.dumps({"videos": videos, "sentences": sentences}))
    for uri in (place, tmp_path):
        (found,) = analyze(InformationFlags(str(uri), str(tmp_path / "out"), reading=("leave_one_out",)))
        assert (found["videos"], found["captions"]) == (2, 4)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    out, place = str(tmp_path / "out"), corpus(tmp_path)
    with pytest.raises(ConfigError, match="does not say which videos are for training"):
        analyze(InformationFlags(place, out))
    with pytest.raises(ConfigError, match="--reading entropy: readings are leave_one_out, corpus, idf"):
        analyze(InformationFlags(place, out, "all", ("entropy",)))
    with pytest.raises(ConfigError, match="--top is 0"):
        analyze(InformationFlags(place, out, "all", top=0))
    (tmp_path / "list.txt").write_text("a\nzebra\n")
    with pytest.raises(InputError, match=r"lists 1 videos that .* does not hold, the first is 'zebra'"):
        analyze(InformationFlags(place, out, str(tmp_path / "list.txt")))
    (tmp_path / "wrong.json").write_text('{"a": "text"}')
    with pytest.raises(InputError, match="must be"):
        analyze(InformationFlags(str(tmp_path / "wrong.json"), out, "all"))
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(DatasetError, match="holds no video"):
        analyze(InformationFlags(str(tmp_path / "empty.json"), out, "all"))
    for split in ("test", "val"):
        captioned_videos(tmp_path / "set" / split, {"b": CAPTIONS["b"]})
    with pytest.raises(DatasetError, match="it holds splits, give one of"):
        analyze(InformationFlags(str(tmp_path / "set"), out))
