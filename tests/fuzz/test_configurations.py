"""Configurations from files and flags: every fault is one line that names the file or the setting."""

import json
import sys
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipelines.arguments import dotted_changes
from pipelines.cli import main
from pipelines.train.command import TrainFlags, _starting_point
from tests.builders.toy import toy_dataset
from tests.fuzz.mutations import TEXTS, VALUES, change_value, clear, damage, few_or_many
from tests.fuzz.oracle import Tally, memory_limit
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.fingerprint import fingerprint
from vtr_core.run.build import check_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.run import flatten

pytestmark = pytest.mark.linux  # memory_limit

PRESETS = ("capsule-howto-tiny", "capsule-msrvtt", "capsule-howto-routing-em", "capsule-howto-mil-nce")


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "data")[0]


@few_or_many
def test_files(data: Manifest, seeds: range, tmp_path: Path) -> None:
    tally = Tally()
    with memory_limit():
        for seed in seeds:
            random = Random(seed)
            root = tmp_path / str(seed) / "in"
            root.mkdir(parents=True)
            file, values = root / "config.json", preset(random.choice(PRESETS)).model_dump(mode="json")
            for _ in range(random.choice([1, 1, 1, 3])):
                change_value(values, random)
            file.write_text(json.dumps(values))
            if seed % 3 == 0:
                damage(root, random)
            tally.run(f"{seed}", partial(_use_file, file, data), str(file), "model.")
            clear(root.parent)
    tally.check(len(seeds))


@few_or_many
def test_flags(data: Manifest, seeds: range) -> None:
    tally = Tally()
    names = sorted(flatten(preset("capsule-howto-tiny").model_dump()))
    with memory_limit():
        for seed in seeds:
            random = Random(seed)
            words = _words(names, random)
            names_shown = (*_dotted(words), "model", "there is no flag")
            tally.run(f"{seed} {str(words)[:200]}", partial(_override, words, data), *names_shown)
    tally.check(len(seeds))


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`vtr train` ends with code 2 and one line; the data set it is given does not exist."""
    names = sorted(flatten(preset("capsule-howto-tiny").model_dump()))
    for seed in range(15):
        words = _words(names, Random(seed))
        monkeypatch.setattr(sys, "argv", ["vtr", "train", "capsule-howto-tiny", "--data", str(tmp_path / "x"), *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def _use_file(file: Path, data: Manifest) -> None:
    _use(_starting_point(["--config", str(file)])[0], data)


def _override(words: list[str], data: Manifest) -> None:
    changes = dotted_changes(words, "vtr train", TrainFlags)
    _use(override(preset("capsule-howto-tiny"), changes), data)


def _use(config: TrainConfig, data: Manifest) -> None:
    """What the driver does with a configuration before workers start."""
    complete = with_inputs(config.model_copy(update={"model": _without_inputs(config)}), data)
    check_model(complete.model)
    values = complete.model_dump(mode="json")
    fingerprint(values)
    json.dumps(values, allow_nan=False).encode()
    assert SYSTEMS.config(json.loads(json.dumps(values))) == complete


def _without_inputs(config: TrainConfig) -> Any:
    return config.model.model_copy(update={"inputs": type(config.model.inputs)()})


def _words(names: list[str], random: Random) -> list[str]:
    """One to three flags, mostly of settings that exist."""
    words: list[str] = []
    for _ in range(random.choice([1, 1, 3])):
        name = random.choice(names)
        if random.random() < 0.2:
            name = random.choice(
                [name + ".more", name.rpartition(".")[0] + ".kind", "a" * 3000 + ".b", "x.", ".x", "..."]
            )
        value = random.choice([*TEXTS, *(json.dumps(value) for value in VALUES), "[" * 20_000, '{"a":' * 20_000])
        words += random.choice([[f"--{name}={value}"], [f"--{name}", value], [f"--{name}"]])
    return words


def _dotted(words: list[str]) -> list[str]:
    """How messages may call the settings of `words`."""
    names = [word.removeprefix("--").partition("=")[0][:50] for word in words if word.startswith("--")]
    return [*names, *(name.rpartition(".")[0] or name for name in names)]
