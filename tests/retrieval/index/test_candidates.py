"""faiss finds the candidates that exact search finds; without it the error says what to install."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.optional import optional
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.index.candidates import (
    Candidates,
    build_candidates,
    candidates_of,
    load_faiss,
    normalized,
)
from vtr_core.retrieval.index.index import Shard
from vtr_core.retrieval.index.items import Item


def vectors(rows: int, seed: int, dim: int = 16) -> np.ndarray:
    return normalized(np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32))


@pytest.fixture
def faiss(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("vtr_core.retrieval.index.candidates.FEWEST", 400)
    return optional("faiss", "faiss")


def arrays_of(items: np.ndarray) -> dict[str, np.ndarray]:
    arrays = build_candidates(items)
    assert arrays is not None
    return arrays


def test_without_faiss_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match="make install EXTRAS=faiss"):
        load_faiss()


def test_nothing_imports_faiss_unasked() -> None:
    names = "vtr_core.retrieval.search.index_search, vtr_core.retrieval.index.build"
    code = f"import sys; import {names}; print('faiss' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.usefixtures("faiss")
def test_candidates_are_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.candidates._AT_ONCE", 150)  # added in several blocks
    items = vectors(500, 0)
    queries = normalized(items[:5] + 0.3 * vectors(5, 1))
    candidates = Candidates(arrays_of(3 * items), *items.shape).find(2 * queries, 100)
    nearest = np.argsort(-(queries @ items.T), axis=1)[:, :10]
    for near, few in zip(nearest, candidates, strict=True):
        assert np.all(np.diff(few) > 0)
        assert len(set(few) & set(near)) >= 6
        assert near[0] in few


def test_too_few_vectors_are_searched_exactly() -> None:
    assert build_candidates(vectors(500, 0)) is None
    shard = Shard.of({"latent": vectors(2, 0)}, [Item("a", "a"), Item("b", "b")])
    assert candidates_of(shard, "latent") is None


def test_candidates_of_arrays_are_those_of_faiss(faiss: Any) -> None:
    """Position for position, as of the object that faiss trains and fills by itself."""
    items, dim = vectors(3000, 0, 32), 32
    queries = normalized(items[:20] + 0.3 * vectors(20, 1, 32))
    arrays = arrays_of(items)
    lists = len(arrays["centroids"])
    whole = faiss.IndexIVFPQFastScan(faiss.IndexFlatIP(dim), dim, lists, 8, 4, faiss.METRIC_INNER_PRODUCT)
    whole.cp.niter = whole.pq.cp.niter = 10
    chosen = np.random.default_rng(0).choice(len(items), min(len(items), 40 * lists), replace=False)
    whole.train(items[np.sort(chosen)])
    whole.add(items)
    _, expected = whole.search(queries, 100, params=faiss.SearchParametersIVF(nprobe=max(8, lists // 2)))
    for near, row in zip(Candidates(arrays, *items.shape).find(queries, 100), expected, strict=True):
        assert near.tolist() == sorted(row[row >= 0].tolist())


@pytest.mark.usefixtures("faiss")
@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("rows", 500, "a row that there is not"),
        ("rows", -1, "a row that there is not"),
        ("sizes", -1, "do not hold 500 vectors"),
        ("sizes", 2**62, "do not hold 500 vectors"),
        ("sizes", lambda sizes: sizes + 1, "do not hold 500 vectors"),
        ("sizes", lambda sizes: sizes.astype(np.int32), "not those that vtr index writes"),
        ("codes", lambda codes: codes[:, :1], "codes has the shape"),
        ("parts", np.inf, "values beyond 4"),
        ("parts", lambda parts: parts[:3], "no 3 parts"),
        ("centroids", lambda centroids: centroids[:0], "it has no lists"),
    ],
)
def test_damaged_candidates_are_named(name: str, value: Any, fault: str) -> None:
    """Arrays of which one holds another value at its end, or is another one."""
    arrays = arrays_of(vectors(500, 0))
    if callable(value):
        arrays[name] = value(arrays[name])
    else:
        arrays[name] = arrays[name].copy()
        arrays[name].reshape(-1)[-1] = value
    with pytest.raises(DatasetError, match=rf"candidates are damaged .*{fault}.*run vtr index again"):
        Candidates(arrays, 500, 16)


def test_rows_of_zeros_stay() -> None:
    assert normalized(np.zeros((1, 3), np.float32)).tolist() == [[0, 0, 0]]
