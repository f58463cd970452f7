"""What an index that somebody else made may bring: no foreign bytes for faiss, and no places that are opened."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vtr_core
from tests.retrieval.index.test_index import toy_index
from vtr_core.errors import DatasetError
from vtr_core.retrieval.index.index import MARKER, StoredFile, load_index, save_index
from vtr_core.retrieval.search.index_search import indexed_data
from vtr_core.storage import StorageError, locate


def test_an_exact_index_brings_no_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.load_faiss", lambda: pytest.fail("faiss is asked"))
    index = toy_index()
    shard = replace(index.shards[0], candidates={"levels": np.ones(3, np.int32)})
    save_index(locate(str(tmp_path)), replace(index, shards=(shard,)))
    with pytest.raises(DatasetError, match="lists candidates, which an exact index does not have"):
        load_index(locate(str(tmp_path)))


def test_candidates_of_earlier_versions_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What faiss itself wrote, and graphs: all items are compared instead."""
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.load_faiss", lambda: pytest.fail("faiss is asked"))
    index = toy_index()
    shard = replace(index.shards[0], candidates={"levels": np.ones(3, np.int32)})
    record = replace(index.record, backend="hnsw")
    saved = save_index(locate(str(tmp_path)), replace(index, record=record, shards=(shard,)))
    (tmp_path / "candidates.faiss").write_bytes(b"IHNs and what somebody else wrote")
    (stored,) = saved.shards
    files = {**stored.files, "candidates": StoredFile("candidates.faiss", 33, "0" * 64)}
    earlier = replace(saved, shards=(replace(stored, files=files),))
    (tmp_path / MARKER).write_text(json.dumps(earlier.to_json()))
    assert load_index(locate(str(tmp_path))).shards[0].candidates is None


@pytest.mark.parametrize(
    "place", ["gs://b/c?endpoint_override=127.0.0.1:9&scheme=http", "s3://b/c", "hub:somebody/model"]
)
def test_places_that_an_index_names_are_not_opened(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the checkpoint nor the data set; the user may name the checkpoint."""
    index = toy_index()
    record = replace(index.record, checkpoint=place, data=place)
    save_index(locate(str(tmp_path)), replace(index, record=record))
    for opens in ("vtr_core.train.checkpoint.trained_model._readable", "vtr_core.data.manifest.Manifest.load"):
        monkeypatch.setattr(opens, pytest.fail)
    with pytest.raises(StorageError, match="name it with --checkpoint"):
        vtr_core.Index.open(tmp_path)
    assert indexed_data(str(tmp_path), record) is None
