"""`vtr encoders`: the sources, the recipes, and the models of a Hugging Face cache."""

import json
import shutil
from pathlib import Path

import pytest

from pipelines.cli import run
from tests.builders import pretrained
from vtr_core.backbones.recipes import RECIPES
from vtr_core.encoders.catalogue import cached_models, catalogue
from vtr_core.encoders.encoder import SOURCES, encoder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    folder = tmp_path / "cache"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr("huggingface_hub.utils._cache_manager.HF_HUB_CACHE", str(folder))
    return folder


def cached(cache: Path, name: str, model: Path) -> None:
    """A repository of the cache with a model's files."""
    place = cache / f"models--someone--{name}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("0" * 40)
    (place / "blobs").mkdir()
    shutil.copytree(model, place / "snapshots" / ("0" * 40))


def test_everything_is_listed_with_what_it_needs(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {one.name: one for one in catalogue()}
    assert [one.kind for one in listed.values()].count("source") == len(SOURCES)
    bundled = encoder("bundled")
    assert (listed["bundled"].dim, listed["bundled"].here) == (bundled.dim, True)
    assert {one.name for one in RECIPES} < listed.keys()
    assert (listed["howto-2d"].here, listed["imagenet-lite"].here, listed["log-mel"].encodes) == (False, True, "sound")
    monkeypatch.setattr("vtr_core.backbones.recipes.find_spec", lambda name: None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not next(one for one in catalogue() if one.name == "bundled").here


def test_models_of_the_cache_are_listed_by_the_name_that_loads_them(cache: Path, tmp_path: Path) -> None:
    assert cached_models() == []
    pretrained.save_clip(tmp_path / "clip")
    pretrained.save_multimodal_sentences(tmp_path / "st")
    pretrained.save_bert(tmp_path / "bert")
    for name in ("clip", "st", "bert"):
        cached(cache, name, tmp_path / name)
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "config.json").write_text('{"text_config": {}, "vision_config": {}}')
    cached(cache, "pickled", tmp_path / "pickled")
    models = {one.name: one for one in cached_models()}
    assert {name: one.dim for name, one in models.items()} == {
        "hf:someone/clip": 24,
        "hf:someone/st": 24,
        "st:someone/st": None,
    }
    assert models["hf:someone/clip"].what == "CLIPModel"
    assert encoder("hf:someone/clip").dim == 24


def test_the_command_prints_text_and_json(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("encoders", [])
    printed = capsys.readouterr().out
    assert "bundled  (384-d; text and frames)" in printed
    assert "hf:<id or folder>  (as its model; text and frames)" in printed
    assert "howto-2d  (2048-d; frames)" in printed
    run("encoders", ["--json"])
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == [one.name for one in catalogue()]
    run("extract", ["--list"])
    listed = capsys.readouterr().out
    assert "open-clip:<architecture>/<weights>" in listed
    assert "howto-3d: video, 2048 values, 1.5 rows a second" in listed
