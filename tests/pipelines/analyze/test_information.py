"""`vtr analyze information` and `cooccurrence`: figures and grids of captions."""

import io
import json
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import pytest
from PIL import Image

from pipelines.analyze.command import main
from pipelines.analyze.information import InformationFlags, analyze
from tests.builders.captioned import captioned_videos
from tests.text.tagged import FixedTagger
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import SUFFIX, Thumbnail, write_thumbnails
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


SHOWN = {
    "a": ["stroller baby", "baby stroller"],
    "b": ["stroller baby $x$ man", "baby"],
    "c": ["baby man", "man"],
    "d": ["man", "man"],
    "e": ["man dog", "dog"],
}


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    manifest = captioned_videos(tmp_path / "set" / "train", SHOWN)
    tagger = FixedTagger("stroller/NOUN baby/NOUN man/NOUN dog/NOUN x/X")
    place = str(tmp_path / "set" / "concepts")
    build_concept_table([manifest], tagger, TableSettings(min_captions=1), place)
    return manifest


def _run(tmp_path: Path, *more: str) -> dict[str, object]:
    main(["cooccurrence", str(tmp_path / "set"), "--out", str(tmp_path / "out"), *more])
    found: dict[str, object] = json.loads((tmp_path / "out" / "cooccurrence.json").read_text())
    return found


def test_grids(data: Manifest, tmp_path: Path) -> None:
    found = _run(tmp_path, "--grid", "baby", "stroller")
    baby, stroller = found["grids"]  # type: ignore[misc]
    assert [(one["video_id"], one["label"], one["others"]) for one in baby["videos"]] == [
        ("a", 1.0, ["stroller"]), ("b", 1.0, ["stroller"]), ("c", 0.5, []),
    ]  # fmt: skip
    assert [one["video_id"] for one in stroller["videos"]] == ["a", "b"]
    for name in ("grid_0", "grid_1"):
        assert (tmp_path / "out" / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_grids_show_the_thumbnails(data: Manifest, tmp_path: Path) -> None:
    """The green of the only thumbnail is in the grid, and nowhere without it."""
    assert not _green(tmp_path, "dog")
    image = io.BytesIO()
    Image.new("RGB", (32, 18), (0, 255, 0)).save(image, "jpeg")
    file = write_thumbnails(data.location / f"0{SUFFIX}", [Thumbnail("e", 0.0, 1.0, image.getvalue())])
    replace(data, shards=(replace(data.shards[0], thumbnails=file), *data.shards[1:])).save()
    tagger = FixedTagger("stroller/NOUN baby/NOUN man/NOUN dog/NOUN x/X")
    place = str(tmp_path / "set" / "concepts")
    build_concept_table([Manifest.load(data.uri)], tagger, TableSettings(min_captions=1), place)
    assert _green(tmp_path, "dog")


def _green(tmp_path: Path, concept: str) -> bool:
    _run(tmp_path, "--grid", concept)
    pixels = matplotlib.image.imread(tmp_path / "out" / "figures" / "grid_0.png")[..., :3]
    return bool(((pixels[..., 1] > 0.9) & (pixels[..., 0] < 0.1)).any())


def test_bad_input_is_named(data: Manifest, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--grid cat: not among the 4 concepts of"):
        _run(tmp_path, "--grid", "cat")
    with pytest.raises(DatasetError, match="not a concept table"):
        _run(tmp_path, "--grid", "baby", "--concepts", str(tmp_path / "none"))
    with pytest.raises(InputError, match="does not exist"):
        _run(tmp_path, "--grid", "baby", "--keyframes", str(tmp_path / "none"))
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match="the picture of a cannot be read"):
        _run(tmp_path, "--keyframes", str(tmp_path / "frames"), "--grid", "baby")
