"""Data sets whose manifest, shards, vocabulary or word vectors are damaged: refused, or read with the same values."""

import json
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzz.mutations import change_value, damage, few_or_many, fuzz
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


@few_or_many
def test_manifest(valid: Path, seeds: range, tmp_path: Path) -> None:
    read = partial(_read, expected=_values(valid))
    fuzz(valid, tmp_path, seeds, partial(damage, only=lambda file: file.name == "manifest.json"), read)


@few_or_many
def test_signed_manifest(valid: Path, seeds: range, tmp_path: Path) -> None:
    """With a fingerprint of its own: what somebody wrote by hand. It may name less than there is, but never crash."""
    fuzz(valid, tmp_path, seeds, _signed_change, _values)


@few_or_many
def test_shards_and_words(valid: Path, seeds: range, tmp_path: Path) -> None:
    read = partial(_read, expected=_values(valid))
    fuzz(valid, tmp_path, seeds, partial(damage, only=lambda file: file.name != "manifest.json"), read)


@few_or_many
def test_every_bit_of_a_shard(valid: Path, seeds: range, tmp_path: Path) -> None:
    """A flip anywhere is noticed, or changes no value."""

    def change(root: Path, random: Random) -> str:
        shard = sorted(root.glob("*.parquet"))[0]
        content = bytearray(shard.read_bytes())
        place = random.randrange(len(content))
        content[place] ^= 1 << random.randrange(8)
        shard.write_bytes(content)
        return f"byte {place} of {len(content)} in {shard.name}"

    fuzz(valid, tmp_path, seeds, change, partial(_read, expected=_values(valid)))


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


def _read(root: Path, expected: list[Any]) -> None:
    """Read all of it; the values must be the `expected`."""
    np.testing.assert_equal([_plain(value) for value in _values(root)], [_plain(value) for value in expected])


def _plain(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") else value


def _signed_change(root: Path, random: Random) -> str:
    """Another manifest with a fingerprint of its own: what somebody wrote by hand, or another program."""
    file = root / "manifest.json"
    value = json.loads(file.read_text())
    value.pop("fingerprint")
    change_value(value, random)
    try:
        value["fingerprint"] = fingerprint(value)
    except ValueError:
        value["fingerprint"] = ""
    file.write_text(json.dumps(value))
    return "a signed change"


@few_or_many
def test_records_of_an_interrupted_ingest(seeds: range, tmp_path: Path) -> None:
    """What a resumed ingest reads of the one before."""
    world = WORLDS["pairs_jsonl"]
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
    fuzz(tmp_path / "valid", tmp_path, seeds, partial(damage, only=lambda file: file.parent.name == "_ingest"), resume)
