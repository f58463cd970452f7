"""A folder is a data set only with a whole manifest of this schema version."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.toy import toy_dataset
from vtr_core.data.manifest import Manifest, data_set, training_sets
from vtr_core.errors import DatasetError, SchemaMismatch, VtrError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_dataset(tmp_path / "d")
    return tmp_path / "d"


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    value = json.loads((folder / "manifest.json").read_text())
    change(value)
    (folder / "manifest.json").write_text(json.dumps(value))


def test_another_schema_version_is_named(folder: Path) -> None:
    edit(folder, lambda value: value.update(version=2))
    with pytest.raises(SchemaMismatch, match=r"is clips/2, this code reads clips/1; rebuild it with vtr ingest"):
        Manifest.load(str(folder))


def test_an_unknown_record_kind_is_named(folder: Path) -> None:
    edit(folder, lambda value: value.update(kind="sounds"))
    with pytest.raises(
        SchemaMismatch,
        match=r"is sounds/1, this code reads .*steps/1, images/1 and frames/1; rebuild it",
    ):
        Manifest.load(str(folder))


def test_an_edited_manifest_is_noticed(folder: Path) -> None:
    edit(folder, lambda value: value["dropped"].update(nothing=1))
    with pytest.raises(DatasetError, match="fingerprint"):
        Manifest.load(str(folder))


@pytest.mark.parametrize("key", ["features", "shards", "vocabulary", "source", "dropped", "max_words"])
def test_a_manifest_that_lacks_a_part_is_damaged(folder: Path, key: str) -> None:
    edit(folder, lambda value: value.pop(key))
    with pytest.raises(DatasetError, match="damaged"):
        Manifest.load(str(folder))


def test_a_truncated_manifest_is_named(folder: Path) -> None:
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text[: len(text) // 2])
    with pytest.raises(VtrError, match=r"manifest\.json is not valid JSON"):
        Manifest.load(str(folder))


def test_the_fingerprint_does_not_depend_on_the_place(tmp_path: Path) -> None:
    marks = {toy_dataset(tmp_path / name)[0].fingerprint for name in ("a", "b")}
    assert len(marks) == 1


def test_a_folder_of_one_split_stands_for_it(tmp_path: Path) -> None:
    toy_dataset(tmp_path / "test")
    assert Manifest.load(str(tmp_path)).uri == data_set(str(tmp_path), "train") == str(tmp_path / "test")
    assert training_sets(str(tmp_path), None) == (str(tmp_path / "test"), None)


def test_of_several_splits_one_must_be_meant(tmp_path: Path) -> None:
    for split in ("train", "val"):
        toy_dataset(tmp_path / split)
    train, val = str(tmp_path / "train"), str(tmp_path / "val")
    for name in ("test", None):
        with pytest.raises(DatasetError, match=f"it holds splits, give one of {train}, {val}"):
            data_set(str(tmp_path), name)
    assert training_sets(str(tmp_path), None) == training_sets(str(tmp_path), str(tmp_path)) == (train, val)
    assert training_sets(train, None) == (train, None)


def test_splits_of_an_ingest_that_did_not_end_are_not_all_there_are(tmp_path: Path) -> None:
    toy_dataset(tmp_path / "train")
    (tmp_path / "_ingest").mkdir()
    with pytest.raises(DatasetError, match="its ingest was interrupted: run the same vtr ingest command again"):
        data_set(str(tmp_path), "train")
