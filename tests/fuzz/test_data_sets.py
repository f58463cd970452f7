"""Data sets whose manifest, shards, vocabulary or word vectors are damaged: refused, or read with the same values."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzz.mutations import change_value, clear, damage
from tests.fuzz.oracle import Tally, memory_limit
from tests.fuzz.worlds import WORLDS, ingest
from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.reading.stored_rows import read_steps
from vtr_core.data.records.schema import ClipSchema
from vtr_core.data.shards.shard_file import check_files
from vtr_core.data.shards.word_table import WordTable
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import locate

pytestmark = pytest.mark.linux  # memory_limit

CASES = 100
KINDS = {"clips": "pairs_jsonl", "videos": "msrvtt_videos", "steps": "crosstask"}


@pytest.fixture(params=KINDS)
def valid(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data set of each record kind, with word vectors."""
    world = WORLDS[KINDS[request.param]]
    (tmp_path / "source").mkdir()
    world.write(tmp_path / "source")
    vectors = tmp_path / "vectors.txt"
    words = ("the", "a", "b", "caption", "letter", "an", "boil", "water", "pour", "drink", "stir", "mixture", "alcohol")
    vectors.write_text("".join(f"{word} {number} 1 2\n" for number, word in enumerate(words)))
    ingest(world.source(tmp_path / "source"), tmp_path / "out", strict=True, word_vectors=str(vectors))
    return next(path.parent for path in (tmp_path / "out").rglob("manifest.json"))


def test_manifest(valid: Path, tmp_path: Path) -> None:
    _fuzz(valid, tmp_path, lambda root, random: damage(root, random, lambda file: file.name == "manifest.json").change)


def test_signed_manifest(valid: Path, tmp_path: Path) -> None:
    """With a fingerprint of its own: what somebody wrote by hand. It may name less than there is, but never crash."""
    _fuzz(valid, tmp_path, lambda root, random: _signed_change(root / "manifest.json", random), compare=False)


def test_shards_and_words(valid: Path, tmp_path: Path) -> None:
    def change(root: Path, random: Random) -> str:
        done = damage(root, random, lambda file: file.name != "manifest.json")
        return f"{done.change} {done.file.name}"

    _fuzz(valid, tmp_path, change)


def test_every_bit_of_a_shard(valid: Path, tmp_path: Path) -> None:
    """A flip anywhere is noticed, or changes no value."""

    def change(root: Path, random: Random) -> str:
        shard = sorted(root.glob("*.parquet"))[0]
        content = bytearray(shard.read_bytes())
        place = random.randrange(len(content))
        content[place] ^= 1 << random.randrange(8)
        shard.write_bytes(content)
        return f"byte {place} of {len(content)} in {shard.name}"

    _fuzz(valid, tmp_path, change)


def _fuzz(valid: Path, folder: Path, change: Callable[[Path, Random], str], compare: bool = True) -> None:
    tally, expected = Tally(), _values(valid)
    with memory_limit():
        for seed in range(CASES):
            root = folder / str(seed) / "in"
            shutil.copytree(valid, root)
            damaged = change(root, Random(f"{valid.name} {seed}"))
            tally.run(f"{seed} {damaged}", partial(_read, root, expected if compare else None), str(root))
            clear(root.parent)
    tally.check(CASES)


def _values(root: Path) -> list[Any]:
    """Everything that training and evaluation read of a data set."""
    manifest = Manifest.load(str(root))
    check_files(manifest)
    words = WordTable.load(manifest)
    read: list[Any] = [words.vocabulary.words, words.vectors, manifest.schema, manifest.rows, manifest.videos]
    match manifest.schema:
        case ClipSchema() as schema:
            reader = RowGroupReader(manifest, schema.arrow().names)
            return [*read, *(reader.read(place) for place in row_groups(manifest))]
        case schema if schema.kind == "steps":
            return [*read, *read_steps(manifest, schema.features)]
        case schema:
            reader = RowGroupReader(manifest, schema.arrow().names)
            groups = (reader.read_arrow(place) for place in row_groups(manifest))
            return [*read, *({name: column.to_pylist() for name, column in group.items()} for group in groups)]


def _read(root: Path, expected: list[Any] | None) -> None:
    """Read all of it; the values must be the `expected`, where there are any."""
    values = _values(root)
    if expected is not None:
        np.testing.assert_equal([_plain(value) for value in values], [_plain(value) for value in expected])


def _plain(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") else value


def _signed_change(file: Path, random: Random) -> str:
    """Another manifest with a fingerprint of its own: what somebody wrote by hand, or another program."""
    value = json.loads(file.read_text())
    value.pop("fingerprint")
    change_value(value, random)
    try:
        value["fingerprint"] = fingerprint(value)
    except ValueError:
        value["fingerprint"] = ""
    file.write_text(json.dumps(value))
    return "a signed change"


def test_records_of_an_interrupted_ingest(tmp_path: Path) -> None:
    """What a resumed ingest reads of the one before."""
    world, tally = WORLDS["pairs_jsonl"], Tally()
    (tmp_path / "source").mkdir()
    world.write(tmp_path / "source")
    options = IngestOptions(videos_per_shard=1)

    def resume(root: Path, stop: bool = False) -> None:
        plan = plan_ingest(world.source(tmp_path / "source"), locate(root), None, options)
        for task in begin(plan)[: 1 if stop else None]:
            do(plan, task)
        if not stop:
            finish(plan)

    resume(tmp_path / "valid", stop=True)
    for seed in range(CASES):
        root = tmp_path / str(seed) / "in"
        shutil.copytree(tmp_path / "valid", root)
        done = damage(root, Random(seed), lambda file: file.parent.name == "_ingest")
        tally.run(f"{seed} {done.change} {done.file.name}", partial(resume, root), str(root))
        clear(root.parent)
    tally.check(CASES)
