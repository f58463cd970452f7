"""Help: docstrings as paragraphs, every setting told; a preset's twenty settings, and the list of presets."""

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from pydantic import BaseModel

from pipelines.arguments import print_help
from pipelines.cli import run
from pipelines.extract.command import ExtractFlags
from pipelines.search.command import SearchFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core.config.override import Settings, setting_names
from vtr_core.data.sources.pairs import Pairs
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import PRESETS, preset


@pytest.mark.parametrize(
    ("of", "whole"),
    [
        (SearchFlags, "candidates of ivf-pq that are compared exactly; in batch mode"),
        (
            preset("capsule-howto-tiny").training,
            "at the first step: for `capsule-howto` at 4,096 rows",
        ),
    ],
    ids=["flags", "configuration"],
)
def test_sentences_run_on(
    of: object, whole: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    print_help("vtr", of)
    assert whole in capsys.readouterr().out


def _settings(cls: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The class, and those of all settings below it."""
    yield cls
    for field in cls.model_fields.values():
        for inner in _classes(field.annotation):
            yield from _settings(inner)


def _classes(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    return [found for part in get_args(annotation) for found in _classes(part)]


def test_every_setting_of_a_training_has_help() -> None:
    """Groups of settings have that of their class, and `kind` that of its variants."""
    silent = {
        f"{cls.__name__}.{name}"
        for cls in _settings(TrainConfig)
        for name, field in cls.model_fields.items()
        if not (field.description or name == "kind" or _classes(field.annotation))
    }
    assert silent == set()


@pytest.mark.parametrize("of", [ExtractFlags, Pairs], ids=["extract", "ingest pairs"])
def test_help_of_a_switch_says_what_giving_it_does(
    of: type, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    print_help("vtr", of)
    assert "--no-normalise: do not scale it" in capsys.readouterr().out


SMALL = [next(name for name in system.presets().bases if name.endswith(("-tiny", "adapter"))) for system in SYSTEMS]


def flags(capsys: pytest.CaptureFixture[str], name: str, word: str, command: str = "train") -> dict[str, str]:
    """What help shows after each flag, as one line."""
    run(command, [name, word])
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).partition("kinds, each with")[0].split())
    words = re.split(r" (--[a-z][a-z0-9.-]*) (?=[A-Z\[{])", text)
    return dict(zip(words[1::2], words[2::2], strict=True))


def settings(shown: dict[str, str]) -> set[str]:
    return {name[2:].replace("-", "_") for name in shown if "." in name or name in ("--seed", "--on-bad-shard")}


@pytest.mark.parametrize("name", ["capsule-howto-fully-connected", "caption-swin-tiny", *SMALL])
def test_twenty_settings_that_the_preset_has(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = settings(flags(capsys, name, "--help"))
    assert len(shown) == 20
    assert {"training.epochs", "batch.videos", "optimizer.learning_rate", "scaling.workers"} < shown
    assert shown - set(setting_names(preset(name).model_dump())) <= {"model.backbone.source"}


@pytest.mark.parametrize("name", SMALL)
def test_all_settings_but_those_of_other_systems_and_of_the_data(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = settings(flags(capsys, name, "--help-all"))
    mine = next(system for system in SYSTEMS if name in system.presets().bases).presets()
    others = {setting for system in SYSTEMS for setting in system.presets().own_settings} - set(mine.own_settings)
    names = set(setting_names(preset(name).model_dump()))
    kinds = {setting for setting in names if setting.endswith(".kind")}
    hidden = {setting for setting in names - shown - kinds if not setting.startswith("model.inputs.")} - {"preset"}
    assert {setting for setting in hidden if not setting.startswith("captions.")} == {
        setting for setting in names if any(f"{setting}.".startswith(f"{other}.") for other in others)
    }
    assert any(setting.startswith("captions.") for setting in hidden) == name.startswith("siamese")


def test_a_kind_shows_all_that_it_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    shown = flags(capsys, "capsule-howto-tiny", "--help")
    assert shown["--model.routing.kind"].startswith("{self_attention,none,dynamic,em,set_transformer}")
    assert "dual_triplet" not in shown["--loss.kind"]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_what_a_system_names_for_help_is_there(system) -> None:
    table = system.presets()
    names = [set(setting_names(preset(base).model_dump())) for base in table.bases]
    groups = [{group.rpartition(".")[0] for group in known} for known in names]
    for setting in table.most_used:
        assert any(setting in known for known in names) or setting.startswith("model.backbone."), setting
    for setting in table.own_settings:
        assert setting in names[0] | groups[0], setting


def test_help_names_a_dozen_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    run("train", ["--help"])
    names = re.findall(r"^  (\S+) {2,}\S", capsys.readouterr().out, re.MULTILINE)
    assert set(names) <= set(PRESETS)
    assert 10 <= len(names) <= 15
    for system in SYSTEMS:
        assert set(system.presets().bases) & set(names), system.name


def test_the_list_has_every_base_variant_and_recipe_by_system(capsys: pytest.CaptureFixture[str]) -> None:
    run("train", ["--list"])
    lines = capsys.readouterr().out.splitlines()
    for system in SYSTEMS:
        table = system.presets()
        begin = next(number for number, line in enumerate(lines) if line.startswith(f"{system.name}, trained on"))
        block = lines[begin : lines.index("", begin)] if "" in lines[begin:] else lines[begin:]
        shown = [line.split()[0] for line in block if re.match(r" +[a-z0-9-]+ {1,}", line)]
        for name, row in {**table.bases, **table.variants, **table.recipes}.items():
            assert name in shown
            assert row.about.split()[0] in next(line for line in block if line.split()[0] == name)
    assert max(map(len, lines)) <= 110


def test_a_recipe_trains_a_variant_in_its_way() -> None:
    both = preset("hybrid-msrvtt-published-concept")
    assert (both.model.latent_dim, both.model.compat) == (None, "hybrid_space")
    assert preset("siamese-att-published-alexnet").optimizer.learning_rate == 1e-3
    assert "caption-pretrain-baseline" not in PRESETS
