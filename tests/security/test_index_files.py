"""Bytes of an index that somebody else made reach faiss only where its record asks, and of known classes alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.optional import optional
from tests.retrieval.index.test_index import toy_index
from vtr_core.errors import DatasetError
from vtr_core.retrieval.index.candidates import Candidates
from vtr_core.retrieval.index.index import load_index, save_index
from vtr_core.storage import locate


def test_an_exact_index_brings_no_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.load_faiss", lambda: pytest.fail("faiss is asked"))
    index = toy_index()
    shard = replace(index.shards[0], candidates=memoryview(b"IHNs and what somebody else wrote"))
    save_index(locate(str(tmp_path)), replace(index, shards=(shard,)))
    with pytest.raises(DatasetError, match="lists candidates, which an exact index does not have"):
        load_index(locate(str(tmp_path)))


def test_other_classes_of_faiss_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    faiss = optional("faiss", "faiss")
    flat = faiss.IndexFlatIP(16)
    flat.add(np.zeros((4, 16), np.float32))
    content = faiss.serialize_index(flat).data
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.load_faiss", lambda: pytest.fail("faiss is asked"))
    with pytest.raises(DatasetError, match="of no kind that vtr index writes"):
        Candidates(content, 4, 16)
