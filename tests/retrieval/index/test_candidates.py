"""faiss finds the candidates that exact search finds; without it the error says what to install."""

import subprocess
import sys
from typing import Any, get_args

import numpy as np
import pytest

from tests.optional import optional
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.index.candidates import (
    CONSTRUCTION,
    NEIGHBOURS,
    Candidates,
    build_candidates,
    candidates_of,
    load_faiss,
    normalized,
)
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


@pytest.mark.parametrize("kind", get_args(Approximate))
def test_candidates_of_arrays_are_those_of_faiss(kind: Approximate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Position for position, as of the object that faiss trains and fills by itself."""
    faiss = optional("faiss", "faiss")
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.FEWEST", 400)
    items, dim = vectors(3000, 0, 32), 32
    queries = normalized(items[:20] + 0.3 * vectors(20, 1, 32))
    arrays = build_candidates(items, kind)
    assert arrays is not None
    if kind == "hnsw":
        whole = faiss.IndexHNSWSQ(dim, faiss.ScalarQuantizer.QT_8bit, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        whole.hnsw.efConstruction, training = CONSTRUCTION, len(items)
        effort = faiss.SearchParametersHNSW(efSearch=200)
    else:
        lists = len(arrays["centroids"])
        centroids = faiss.IndexFlatIP(dim)
        whole = faiss.IndexIVFPQFastScan(centroids, dim, lists, 8, 4, faiss.METRIC_INNER_PRODUCT)
        whole.cp.niter, whole.pq.cp.niter, training = 10, 10, 40 * lists
        effort = faiss.SearchParametersIVF(nprobe=max(8, lists // 2))
    chosen = np.random.default_rng(0).choice(len(items), min(len(items), training), replace=False)
    whole.train(items[np.sort(chosen)])
    whole.add(items)
    _, expected = whole.search(queries, 100, params=effort)
    for near, row in zip(Candidates(arrays, *items.shape).find(queries, 100), expected, strict=True):
        assert near.tolist() == sorted(row[row >= 0].tolist())


def changed(kind: Approximate, name: str, value: Any) -> dict[str, np.ndarray]:
    """Arrays of which one holds another value at its end, or is another one."""
    arrays = build_candidates(vectors(500, 0), kind)
    assert arrays is not None
    array = value(arrays[name]) if callable(value) else arrays[name].copy()
    if not callable(value):
        array.reshape(-1)[-1] = value
    return {**arrays, name: array}


def _to_the_lowest(neighbours: np.ndarray) -> np.ndarray:
    """All links lead to one vector, which is on the lowest level alone."""
    return np.where(neighbours >= 0, LOWEST, neighbours).astype(np.int32)


LOWEST = 1
FAULTS: list[tuple[Approximate, str, Any, str]] = [
    ("hnsw", "neighbours", 500, "a link leads to no vector"),
    ("hnsw", "neighbours", -2, "a link leads to no vector"),
    ("hnsw", "neighbours", _to_the_lowest, "a vector that is not on it"),
    ("hnsw", "neighbours", lambda links: links[:-1], "neighbours has the shape"),
    ("hnsw", "levels", 0, "vectors are of 1 to 6 levels"),
    ("hnsw", "levels", 7, "vectors are of 1 to 6 levels"),
    ("hnsw", "levels", 3, "the shape"),
    ("hnsw", "entry", 500, "begins at no vector"),
    ("hnsw", "entry", -1, "begins at no vector"),
    ("hnsw", "entry", LOWEST, "begins at no vector of the highest level"),
    ("hnsw", "codes", lambda codes: codes[:, :15], "codes has the shape"),
    ("hnsw", "ranges", np.nan, "values beyond 4"),
    ("hnsw", "ranges", 1e30, "values beyond 4"),
    ("hnsw", "levels", lambda levels: levels.astype(np.int64), "of no kind that vtr index writes"),
    ("ivf-pq", "rows", 500, "a row that there is not"),
    ("ivf-pq", "rows", -1, "a row that there is not"),
    ("ivf-pq", "sizes", -1, "do not hold 500 vectors"),
    ("ivf-pq", "sizes", 2**62, "do not hold 500 vectors"),
    ("ivf-pq", "sizes", lambda sizes: sizes + 1, "do not hold 500 vectors"),
    ("ivf-pq", "codes", lambda codes: codes[:, :1], "codes has the shape"),
    ("ivf-pq", "parts", np.inf, "values beyond 4"),
    ("ivf-pq", "parts", lambda parts: parts[:3], "no 3 parts"),
    ("ivf-pq", "centroids", lambda centroids: centroids[:0], "it has no lists"),
]


@pytest.mark.parametrize(("kind", "name", "value", "fault"), FAULTS)
def test_damaged_candidates_are_named(
    kind: Approximate, name: str, value: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    optional("faiss", "faiss")
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.FEWEST", 400)
    arrays = changed(kind, name, value)
    with pytest.raises(DatasetError, match=rf"candidates are damaged .*{fault}.*run vtr index again"):
        Candidates(arrays, 500, 16)


def test_rows_of_zeros_stay() -> None:
    assert normalized(np.zeros((1, 3), np.float32)).tolist() == [[0, 0, 0]]
