"""`vtr analyze cooccurrence`: grids of a data set with a concept table beside it."""

import io
import json
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import pytest
from PIL import Image

from pipelines.analyze.command import main
from tests.builders.captioned import captioned_videos
from tests.text.tagged import FixedTagger
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import SUFFIX, Thumbnail, write_thumbnails
from vtr_core.errors import ConfigError, DatasetError, InputError

CAPTIONS = {
    "a": ["stroller baby", "baby stroller"],
    "b": ["stroller baby $x$ man", "baby"],
    "c": ["baby man", "man"],
    "d": ["man", "man"],
    "e": ["man dog", "dog"],
}


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    manifest = captioned_videos(tmp_path / "set" / "train", CAPTIONS)
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
