"""What exists is what it is called: names that look like URIs, globs or variables are names all the same."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from pipelines.cli import run
from tests.fuzz.drawn import NOT_UTF_8, name
from tests.fuzz.mutations import clear
from tests.fuzz.oracle import Tally
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.shard_file import check_files
from vtr_core.data.sources.video_files import Inventory
from vtr_core.storage import locate

SEEDS = [range(15), pytest.param(range(15, 400), marks=pytest.mark.long)]


def _cases(tally: Tally, seeds: range, folder: Path) -> Iterator[tuple[Random, Path]]:
    """A generator and a new folder with an odd name for each seed; at the end no case may have a fault."""
    for seed in seeds:
        random = Random(seed)
        place = folder / name(random)
        place.mkdir()
        yield random, place
        clear(place)
    assert not tally.faults, "\n".join(tally.faults[:20])


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_folder_of_videos(seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed by its path, its URI and from where one stands; every file is the one of its name."""
    monkeypatch.chdir(tmp_path)
    tally = Tally()
    for random, place in _cases(tally, seeds, tmp_path):
        names = {f"{name(random)}/{name(random)}.mp4" for _ in range(4)}
        for path in names:
            (place / path).parent.mkdir(exist_ok=True)
            (place / path).write_text(path)
        for given in (str(place), place.as_uri(), place.name):
            tally.run(f"{given!r} {sorted(names)}", partial(_listed, given, names), place.name, place.as_uri())


def _listed(place: str, names: set[str]) -> None:
    files = Inventory(place).files
    assert {file.name for file in files} == names
    for file in files:
        assert storage.read_bytes(locate(file.uri)).decode() == file.name


@pytest.mark.linux
def test_a_name_of_other_bytes_hides_no_other_file(tmp_path: Path) -> None:
    """The rest is listed, or the error names the file."""
    (tmp_path / "good.mp4").write_text("good.mp4")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + NOT_UTF_8)).with_suffix(".mp4")).touch()
    tally = Tally()
    tally.run("bad", lambda: [file.name for file in Inventory(str(tmp_path)).files].index("good.mp4"), "bad.mp4")
    assert not tally.faults, tally.faults


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_data_set_is_made_and_read_anywhere(seeds: range, tmp_path: Path) -> None:
    tally = Tally()
    for random, place in _cases(tally, seeds, tmp_path):
        table, out = place / f"{name(random)}.csv", place / name(random)
        table.write_text("id,caption\nv1,cut the onion\nv2,stir it\n")
        tally.run(f"{table!r} {out!r}", partial(_made, table, out), place.name)


def _made(table: Path, out: Path) -> None:
    run("ingest", ["captions", "--records", "videos", "--table", str(table), "--out", str(out), "--workers", "0"])
    by_path, by_uri = (Manifest.load(uri) for uri in (str(out), out.as_uri()))
    assert by_path.fingerprint == by_uri.fingerprint
    check_files(by_uri)
