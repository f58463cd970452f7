"""Help of flags and settings: a docstring of several lines is one paragraph, and every setting has one."""

from collections.abc import Iterator
from typing import get_args

import pytest
from pydantic import BaseModel

from pipelines.arguments import print_help
from pipelines.extract.command import ExtractFlags
from pipelines.search.command import SearchFlags
from vtr_core.config.override import Settings
from vtr_core.data.sources.pairs import Pairs
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset


@pytest.mark.parametrize(
    ("of", "whole"),
    [
        (SearchFlags, "candidates of ivf-pq that are compared exactly; in batch mode"),
        (preset("capsule-howto-tiny").training, "`off` by default, since it was tried on a CPU alone"),
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
