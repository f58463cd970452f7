"""An index comes back as it was written, or its damage is named."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vtr_core.errors import DatasetError
from vtr_core.retrieval.index.index import (
    ITEMS,
    MARKER,
    IndexRecord,
    Item,
    VideoIndex,
    load_index,
    model_fingerprint,
    save_index,
)
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
    return VideoIndex(record, tensors, items, ("dog", "<script>"))


def test_an_index_comes_back_as_it_was_written(tmp_path: Path) -> None:
    index, place = toy_index(), locate(str(tmp_path / "i"))
    record = save_index(place, index)
    found = load_index(place)
    assert found.record == record
    assert replace(found.record, files={}, concepts=()) == index.record
    assert (tuple(found.items), found.concepts, found.candidates) == (index.items, index.concepts, None)
    assert (found.items[2], found.items[1:3][1], len(found.items)) == (index.items[2], index.items[2], 4)
    assert all(np.array_equal(found.tensors[name], index.tensors[name]) for name in index.tensors)
    assert sorted(file.name.partition("-")[0] for file in (tmp_path / "i").iterdir()) == [
        "concept",
        MARKER,
        "items",
        "latent",
    ]


def test_a_new_revision_replaces_the_old_one_which_open_readers_keep(tmp_path: Path) -> None:
    place = locate(str(tmp_path / "i"))
    save_index(place, toy_index())
    opened = load_index(place)
    save_index(place, toy_index(2))
    found = load_index(place)
    assert (found.record.num_items, found.record.revision) == (2, 2)
    assert len(list((tmp_path / "i").iterdir())) == 4
    assert np.array_equal(opened.tensors["latent"], toy_index().tensors["latent"])
    assert tuple(opened.items) == toy_index().items


def test_local_vectors_are_mapped_and_large_ones_checked_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = save_index(locate(str(tmp_path)), toy_index())
    file = tmp_path / record.files["latent"].file
    monkeypatch.setattr("vtr_core.retrieval.index.index.LARGEST_HASHED", 16)
    opened = load_index(locate(str(tmp_path)))
    with file.open("r+b") as stored:
        stored.seek(-4, 2)
        stored.write(np.float32(7).tobytes())
    assert opened.tensors["latent"][-1, -1] == 7  # pages of the file, no copy
    assert load_index(locate(str(tmp_path))).tensors["latent"][-1, -1] == 7
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(DatasetError, match="bytes, not"):
        load_index(locate(str(tmp_path)))


def test_a_folder_without_the_marker_is_no_index(tmp_path: Path) -> None:
    place = locate(str(tmp_path))
    with pytest.raises(DatasetError, match=r"is not an index: it has no index\.json; make one with vtr index"):
        load_index(place)
    save_index(place, toy_index())
    (tmp_path / MARKER).unlink()
    with pytest.raises(DatasetError, match="is not an index"):
        load_index(place)


def _change(folder: Path, change: str) -> None:
    marker = json.loads((folder / MARKER).read_text())
    match change:
        case "vectors":
            file = folder / marker["files"]["latent"]["file"]
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        case "no items":
            (folder / marker["files"][ITEMS]["file"]).unlink()
        case "record":
            (folder / MARKER).write_text(json.dumps({**marker, "checkpoint": "/elsewhere"}))
        case "version":
            (folder / MARKER).write_text(json.dumps({**marker, "version": 1}))
        case "list":
            (folder / MARKER).write_text("[]")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("vectors", "sha256 differs"),
        ("no items", r"items-\w+\.arrow is missing"),
        ("record", "does not match its fingerprint"),
        ("version", "version 1, this code reads 2; make it anew with vtr index /runs/one --data /data/test --out"),
        ("list", "is damaged"),
    ],
)
def test_damage_is_named(change: str, message: str, tmp_path: Path) -> None:
    save_index(locate(str(tmp_path)), toy_index())
    _change(tmp_path, change)
    with pytest.raises(DatasetError, match=message):
        load_index(locate(str(tmp_path)))


@pytest.mark.parametrize("fault", ["items", "concepts", "sizes"])
def test_parts_that_do_not_belong_together_are_refused(fault: str, tmp_path: Path) -> None:
    index = toy_index()
    wrong = {
        "items": replace(index, items=index.items[:-1]),
        "concepts": replace(index, concepts=("dog",)),
        "sizes": replace(index, record=replace(index.record, sizes={"latent": 4, "concept": 2})),
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
