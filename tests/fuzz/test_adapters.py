"""Every adapter meets damaged input: it is used, dropped and counted, or refused with the file named."""

import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import pipelines.ingest.command
from pipelines.cli import main
from tests.fuzz.mutations import clear, damage
from tests.fuzz.oracle import Tally, memory_limit
from tests.fuzz.worlds import WORLDS, ingest
from vtr_core.data.ingest.ingest import do
from vtr_core.errors import InputError, VtrError

pytestmark = pytest.mark.linux  # memory_limit

COMMANDS = 15


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 100), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("name", WORLDS)
def test_adapter(name: str, seeds: range, tmp_path: Path) -> None:
    world, tally = WORLDS[name], Tally()
    (tmp_path / "valid").mkdir()
    world.write(tmp_path / "valid")
    ingest(world.source(tmp_path / "valid"), tmp_path / "out", strict=True)
    with memory_limit():
        for seed in seeds:
            random = Random(f"{name} {seed}")
            root = _copy(tmp_path, seed)
            done = damage(root, random)
            source, out, strict = world.source(root), root.parent / "out", random.random() < 0.5
            tally.run(f"{seed} {done.what} {done.file}", partial(ingest, source, out, strict), str(root))
            assert sorted(path.name for path in root.parent.iterdir()) in (["in"], ["in", "out"])
            clear(root.parent)
    tally.check(len(seeds))


@pytest.mark.parametrize("name", WORLDS)
def test_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`vtr ingest` ends with code 0, or with code 2 and one line on stderr."""
    world = WORLDS[name]
    (tmp_path / "valid").mkdir()
    world.write(tmp_path / "valid")
    monkeypatch.setattr(pipelines.ingest.command, "_run", _run)
    refused = 0
    for seed in range(COMMANDS):
        random = Random(f"command {name} {seed}")
        root = _copy(tmp_path, seed)
        damage(root, random)
        strict = ["--strict"] if seed % 2 else []
        monkeypatch.setattr(sys, "argv", ["vtr", *world.words(root), "--out", str(root.parent / "out"), *strict])
        code = _exit_code()
        said = capsys.readouterr().err.splitlines()
        assert code in (0, 2)
        assert len(said) == (1 if code else 0)
        assert code == 0 or str(root) in said[0]
        refused += code == 2
    assert refused


def _exit_code() -> object:
    try:
        main("ingest")
    except SystemExit as stop:
        return stop.code
    return 0


def _run(plan: Any, tasks: Sequence[Any], flags: Any) -> None:
    """The shards one after another in this process, faults handed on as Ray's tasks do."""
    for task in tasks:
        try:
            do(plan, task)
        except VtrError as error:
            raise InputError(str(error)) from error


def _copy(folder: Path, seed: int) -> Path:
    root = folder / str(seed) / "in"
    shutil.copytree(folder / "valid", root)
    return root
