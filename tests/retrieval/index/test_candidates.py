"""faiss finds the candidates that exact search finds; without it the error says what to install."""

import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from tests.optional import optional
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.index.candidates import Candidates, build_candidates, candidates_of, load_faiss, normalized
from vtr_core.retrieval.index.index import Approximate, Shard
from vtr_core.retrieval.index.items import Item


def vectors(rows: int, seed: int, dim: int = 16) -> np.ndarray:
    return normalized(np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32))


def built(items: np.ndarray, kind: Approximate) -> Candidates:
    content = build_candidates(items, kind)
    assert content is not None
    return Candidates(content, *items.shape)


def test_without_faiss_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match="make install EXTRAS=faiss"):
        load_faiss()


def test_nothing_imports_faiss_unasked() -> None:
    names = "vtr_core.retrieval.search.index_search, vtr_core.retrieval.index.build"
    code = f"import sys; import {names}; print('faiss' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("kind", get_args(Approximate))
def test_candidates_are_the_nearest(kind: Approximate, monkeypatch: pytest.MonkeyPatch) -> None:
    optional("faiss", "faiss")
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.FEWEST", 400)
    monkeypatch.setattr("vtr_core.retrieval.index.candidates._AT_ONCE", 150)  # added in several blocks
    items = vectors(500, 0)
    queries = normalized(items[:5] + 0.3 * vectors(5, 1))
    found = built(3 * items, kind).find(2 * queries, 100)
    nearest = np.argsort(-(queries @ items.T), axis=1)[:, :10]
    for near, few in zip(nearest, found, strict=True):
        assert np.all(np.diff(few) > 0)
        assert len(set(few) & set(near)) >= {"hnsw": 9, "ivf-pq": 6}[kind]
        assert near[0] in few


def test_few_vectors_are_all_candidates_of_the_graph() -> None:
    optional("faiss", "faiss")
    (found,) = built(vectors(3, 0), "hnsw").find(vectors(1, 1), 20)
    assert found.tolist() == [0, 1, 2]


def test_too_few_vectors_for_lists_are_searched_exactly() -> None:
    optional("faiss", "faiss")
    assert build_candidates(vectors(500, 0), "ivf-pq") is None
    shard = Shard.of({"latent": vectors(2, 0)}, [Item("a", "a"), Item("b", "b")])
    assert candidates_of(shard, "latent") is None


def test_damaged_candidates_are_named() -> None:
    optional("faiss", "faiss")
    content = build_candidates(vectors(50, 0), "hnsw")
    assert content is not None
    with pytest.raises(DatasetError, match=r"50 vectors of 16 dimensions, the index 51 of 16"):
        Candidates(content, 51, 16)
    with pytest.raises(DatasetError, match=r"candidates are damaged .*run vtr index again"):
        Candidates(content[: len(content) // 2], 50, 16)


def test_rows_of_zeros_stay() -> None:
    assert normalized(np.zeros((1, 3), np.float32)).tolist() == [[0, 0, 0]]
