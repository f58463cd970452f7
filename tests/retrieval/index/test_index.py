"""An index comes back as it was written, or its damage is named."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.errors import DatasetError, RunConflict
from vtr_core.retrieval.index.index import (
    ITEMS,
    MARKER,
    IndexRecord,
    Lookup,
    PlannedIndex,
    Shard,
    StoredFile,
    VideoIndex,
    load_index,
    save_index,
)
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.storage import locate


def toy_index(num_items: int = 4) -> VideoIndex:
    generator = np.random.default_rng(0)
    tensors = {
        "latent": generator.normal(size=(num_items, 3)).astype(np.float32),
        "concept": generator.normal(size=(num_items, 2)).astype(np.float32),
    }
    record = IndexRecord(
        kind="dual",
        checkpoint="/runs/one",
        model_fingerprint="m" * 64,
        preset="hybrid-toy",
        data="/data/test",
        data_fingerprint="d" * 64,
        num_items=num_items,
        sizes={"latent": 3, "concept": 2},
        similarity="jaccard",
        latent_weight=0.6,
    )
    items = tuple(
        Item(f'v"{i}\u202e<b>', f"v{i}", i, i + 0.5, f"caption {i}", {"channel": f"c{i % 2}"}) for i in range(num_items)
    )
    return VideoIndex.of(record, Shard.of(tensors, items), concepts=("dog", "<script>"))


def joint_index(*shards: str) -> VideoIndex:
    """Shards of clips named by letters; the vector of a clip is a function of its name."""
    record = replace(toy_index().record, kind="joint", similarity="dot", sizes={}, concepts=())
    return VideoIndex.of(record, *map(_letters, shards))


def _letters(names: str) -> Shard:
    tensors = {
        "video": np.array([[ord(name), 1] for name in names], np.float32),
        "has_video": np.ones(len(names), np.bool_),
    }
    return Shard.of(tensors, [Item(name, f"v{name}") for name in names])


def test_an_index_comes_back_as_it_was_written(tmp_path: Path) -> None:
    index, place = toy_index(), locate(str(tmp_path / "i"))
    record = save_index(place, index)
    found = load_index(place)
    assert found.record == record
    assert replace(found.record, shards=()) == index.record
    assert (tuple(found.items), found.concepts) == (tuple(index.items), index.concepts)
    assert (found.items[2], found.items[1:3][1], len(found.items)) == (index.items[2], index.items[2], 4)
    (shard,), (expected,) = found.shards, index.shards
    assert shard.candidates is None
    assert all(np.array_equal(shard.tensors[name], expected.tensors[name]) for name in expected.tensors)
    assert sorted(file.name.partition("-")[0] for file in (tmp_path / "i").iterdir()) == [
        "concept",
        "id_keys",
        "id_order",
        MARKER,
        "items",
        "latent",
    ]


def test_shards_come_back_together_or_by_parts(tmp_path: Path) -> None:
    index, place = joint_index("ab", "c", "def"), locate(str(tmp_path))
    record = save_index(place, index)
    assert ([shard.num_items for shard in record.shards], record.num_items) == ([2, 1, 3], 6)
    whole = load_index(place)
    assert [item.item_id for item in whole.items] == list("abcdef")
    assert [whole.position(name) for name in "afcx"] == [0, 5, 2, None]
    parts = [load_index(place, part, 2) for part in range(2)]
    assert [[item.item_id for item in part.items] for part in parts] == [["a", "b"], list("cdef")]
    assert [part.record.num_items for part in parts] == [2, 4]
    assert [part.shards[0].tensors["video"][0, 0] for part in parts] == [ord("a"), ord("c")]


def test_a_shard_that_stays_is_not_written_again(tmp_path: Path) -> None:
    place = locate(str(tmp_path))
    first = save_index(place, joint_index("ab", "c"))
    kept = load_index(place).shards[0]
    times = {file.file: (tmp_path / file.file).stat().st_mtime_ns for file in first.shards[0].files.values()}
    second = save_index(place, PlannedIndex(first, iter([kept, _letters("d")])))
    assert second.shards[0] == first.shards[0]
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in times} == times
    assert [item.item_id for item in load_index(place).items] == list("abd")
    assert {file.name for file in tmp_path.iterdir()} == {MARKER, *(file.file for file in second.files)}


def test_an_index_without_items_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is nothing to find"):
        save_index(locate(str(tmp_path)), PlannedIndex(toy_index().record, iter([])))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", [KeyboardInterrupt, DatasetError])
def test_a_write_that_fails_leaves_the_former_revision_alone(
    fault: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = locate(str(tmp_path))

    def failing() -> Iterator[Shard]:
        yield _letters("xy")
        raise fault("stopped")

    with pytest.raises(fault):
        save_index(place, PlannedIndex(toy_index().record, failing()))
    assert not list(tmp_path.iterdir())
    before = save_index(place, joint_index("ab", "c"))
    held = {file: file.read_bytes() for file in tmp_path.iterdir()}
    kept = load_index(place).shards[0]
    with monkeypatch.context() as patched, pytest.raises(fault):
        patched.setattr("vtr_core.retrieval.index.index._store_file", lambda *_: _raise(fault))
        save_index(
            place, PlannedIndex(before, iter([kept, _letters("c"), _letters("d")]))
        )  # "c" has vectors of the former revision
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == held
    assert [item.item_id for item in load_index(place).items] == list("abc")


def _raise(fault: type[BaseException]) -> StoredFile:
    raise fault("stopped")


@pytest.mark.parametrize("exists", [True, False])
def test_an_index_written_while_another_is_computed_stays(exists: bool, tmp_path: Path) -> None:
    place = locate(str(tmp_path))
    if exists:
        save_index(place, joint_index("a"))

    def computed() -> Iterator[Shard]:
        yield _letters("bc")
        save_index(place, joint_index("bc"))

    with pytest.raises(RunConflict, match="changed meanwhile"):
        save_index(place, PlannedIndex(joint_index("bc").record, computed()))
    assert [item.item_id for item in load_index(place).items] == list("bc")


def test_an_index_of_another_version_is_replaced(tmp_path: Path) -> None:
    place = locate(str(tmp_path))
    save_index(place, toy_index())
    _change(tmp_path, "version")
    assert save_index(place, toy_index(2)).revision == 1
    assert len(load_index(place).items) == 2


def test_a_new_revision_replaces_the_old_one_which_open_readers_keep(tmp_path: Path) -> None:
    place = locate(str(tmp_path / "i"))
    save_index(place, toy_index())
    opened = load_index(place)
    save_index(place, toy_index(2))
    found = load_index(place)
    assert (found.record.num_items, found.record.revision) == (2, 2)
    assert len(list((tmp_path / "i").iterdir())) == 6
    assert np.array_equal(opened.shards[0].tensors["latent"], toy_index().shards[0].tensors["latent"])
    assert tuple(opened.items) == tuple(toy_index().items)


def test_local_vectors_are_mapped_and_large_ones_checked_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = save_index(locate(str(tmp_path)), toy_index())
    file = tmp_path / record.shards[0].files["latent"].file
    monkeypatch.setattr("vtr_core.retrieval.index.index.LARGEST_HASHED", 16)
    opened = load_index(locate(str(tmp_path)))
    with file.open("r+b") as stored:
        stored.seek(-4, 2)
        stored.write(np.float32(7).tobytes())
    assert opened.shards[0].tensors["latent"][-1, -1] == 7  # pages of the file, no copy
    assert load_index(locate(str(tmp_path))).shards[0].tensors["latent"][-1, -1] == 7
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(DatasetError, match="bytes, not"):
        load_index(locate(str(tmp_path)))


def _change(folder: Path, change: str) -> None:
    marker = json.loads((folder / MARKER).read_text())
    files = marker["shards"][0]["files"]
    match change:
        case "vectors":
            file = folder / files["latent"]["file"]
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        case "no items":
            (folder / files[ITEMS]["file"]).unlink()
        case "record":
            (folder / MARKER).write_text(json.dumps({**marker, "checkpoint": "/elsewhere"}))
        case "version":
            (folder / MARKER).write_text(json.dumps({**marker, "version": 2}))
        case "list":
            (folder / MARKER).write_text("[]")
        case "no marker":
            (folder / MARKER).unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("vectors", "sha256 differs"),
        ("no items", r"items-\w+\.arrow is missing"),
        ("record", "does not match its fingerprint"),
        ("version", "version 2, this code reads 3; make it anew with vtr index /runs/one --data /data/test --out"),
        ("list", "is damaged"),
        ("no marker", r"is not an index: it has no index\.json; make one with vtr index"),
    ],
)
def test_damage_is_named(change: str, message: str, tmp_path: Path) -> None:
    save_index(locate(str(tmp_path)), toy_index())
    _change(tmp_path, change)
    with pytest.raises(DatasetError, match=message):
        load_index(locate(str(tmp_path)))


@pytest.mark.parametrize("fault", ["items", "concepts", "lookup"])
def test_parts_that_do_not_belong_together_are_refused(fault: str, tmp_path: Path) -> None:
    index = toy_index()
    (shard,) = index.shards
    fewer = Shard.of(shard.tensors, list(index.items)[:-1])
    wrong = {
        "items": replace(index, shards=(replace(fewer, lookup=shard.lookup),)),
        "concepts": replace(index, concepts=("dog",)),
        "lookup": replace(index, shards=(replace(shard, lookup=fewer.lookup),)),
    }[fault]
    save_index(locate(str(tmp_path)), wrong)
    with pytest.raises(DatasetError, match="is damaged"):
        load_index(locate(str(tmp_path)))


def test_a_model_s_fingerprint_is_of_its_weights() -> None:
    torch.manual_seed(0)
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    assert model_fingerprint(one) != model_fingerprint(other)
    other.load_state_dict(one.state_dict())
    assert model_fingerprint(one) == model_fingerprint(other)
    with torch.no_grad():
        other.bias[0] = torch.nextafter(other.bias[0], torch.tensor(9.0))
    assert model_fingerprint(one) != model_fingerprint(other)
    assert model_fingerprint(one.to(torch.bfloat16)) != model_fingerprint(other)


@pytest.mark.parametrize("hashes", [2**63, 3, 1], ids=["distinct", "some collide", "all collide"])
def test_every_item_is_found_where_it_lies(hashes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.index.key64", lambda text: hash(text) % hashes)
    monkeypatch.setattr("vtr_core.retrieval.index.index._AT_ONCE", 4)
    names = [f"clip{number}" for number in np.random.default_rng(0).permutation(11)]
    items = Items.of(Item(name, "v") for name in names)
    lookup = Lookup.of(items)
    assert np.all(np.diff(lookup.keys) >= 0)
    assert [lookup.find(name, items) for name in names] == list(range(11))
    assert lookup.find("clip11", items) is None
    assert Lookup.of(Items.of([])).find("a", Items.of([])) is None
