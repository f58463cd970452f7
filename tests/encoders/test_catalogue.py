"""`vtr encoders`: the sources and the recipes."""

import json

import pytest

from pipelines.cli import run
from vtr_core.backbones.recipes import RECIPES
from vtr_core.encoders.catalogue import catalogue
from vtr_core.encoders.encoder import SOURCES, encoder


def test_everything_is_listed_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {one.name: one for one in catalogue()}
    assert [one.kind for one in listed.values()].count("source") == len(SOURCES)
    bundled = encoder("bundled")
    assert (listed["bundled"].dim, listed["bundled"].here) == (bundled.dim, True)
    assert {one.name for one in RECIPES} < listed.keys()
    assert (listed["howto-2d"].here, listed["imagenet-lite"].here, listed["log-mel"].encodes) == (False, True, "sound")
    monkeypatch.setattr("vtr_core.backbones.recipes.find_spec", lambda name: None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not next(one for one in catalogue() if one.name == "bundled").here


def test_the_command_prints_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    run("encoders", [])
    printed = capsys.readouterr().out
    assert "bundled  (384-d; text and frames)" in printed
    assert "hf:<id or folder>  (as its model; text and frames)" in printed
    assert "howto-2d  (2048-d; frames)" in printed
    run("encoders", ["--json"])
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == [one.name for one in catalogue()]
    assert "open-clip:<architecture>/<weights>" in printed
