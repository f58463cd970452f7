"""faiss finds the candidates that exact search finds; without it the error says what to install."""

import subprocess
import sys

import numpy as np
import pytest

from tests.optional import optional
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.index.faiss import Graph, build_graph, check_faiss, normalized


def vectors(rows: int, seed: int) -> np.ndarray:
    return normalized(np.random.default_rng(seed).normal(size=(rows, 16)).astype(np.float32))


def test_without_faiss_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"pip install 'vtr-ray\[faiss\]'"):
        check_faiss()


def test_nothing_imports_faiss_unasked() -> None:
    names = "vtr_core.retrieval.search.index, vtr_core.retrieval.index.build"
    code = f"import sys; import {names}; print('faiss' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=3600)
    assert done.stdout == "False\n", done.stderr


def test_candidates_are_the_nearest() -> None:
    optional("faiss", "faiss")
    items, query = vectors(500, 0), vectors(1, 1)[0]
    found = Graph(build_graph(items), 500, 16).candidates(query, 20)
    exact = np.argsort(-(items @ query))[:20]
    assert len(set(found) & set(exact)) >= 18
    assert len(Graph(build_graph(items[:3]), 3, 16).candidates(query, 20)) == 3


def test_a_damaged_graph_is_named() -> None:
    optional("faiss", "faiss")
    content = build_graph(vectors(50, 0))
    with pytest.raises(DatasetError, match="has 50 vectors"):
        Graph(content, 51, 16)
    with pytest.raises(DatasetError, match=r"candidates\.faiss is damaged"):
        Graph(content[: len(content) // 2], 50, 16)


def test_rows_of_zeros_stay() -> None:
    assert normalized(np.zeros((1, 3), np.float32)).tolist() == [[0, 0, 0]]
