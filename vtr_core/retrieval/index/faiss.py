"""Candidates by approximate nearest neighbour search with faiss (HNSW), for millions of videos.

faiss is an optional extra, imported only here, on use.
"""

from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core.errors import ConfigError, DatasetError

NEIGHBOURS = 32
"""Links per vector of the graph (M of Malkov and Yashunin 2018)."""
CONSTRUCTION = 80
"""Candidates examined per insertion while the graph is built (efConstruction)."""


def build_graph(vectors: Float32[np.ndarray, "videos dim"]) -> bytes:
    """A graph of L2-normalised vectors, searched by inner product, in faiss's serialised form."""
    faiss = _faiss()
    graph = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = CONSTRUCTION
    graph.add(normalized(vectors))
    return bytes(faiss.serialize_index(graph).tobytes())


def extended_graph(content: bytes, vectors: Float32[np.ndarray, "added dim"]) -> bytes:
    """The graph `content`, from `build_graph`, with more vectors after its own."""
    faiss = _faiss()
    graph = faiss.deserialize_index(np.frombuffer(content, np.uint8))
    graph.add(normalized(vectors))
    return bytes(faiss.serialize_index(graph).tobytes())


class Graph:
    """A graph from `build_graph`. Its bytes must come from an index whose hashes were checked."""

    def __init__(self, content: bytes, num_videos: int, dim: int) -> None:
        faiss = _faiss()
        try:
            self._graph: Any = faiss.deserialize_index(np.frombuffer(content, np.uint8))
        except Exception as error:  # faiss raises plain RuntimeErrors of C++
            raise DatasetError(f"candidates.faiss is damaged ({error}); run vtr index again") from error
        if (self._graph.ntotal, self._graph.d) != (num_videos, dim):
            held = f"{self._graph.ntotal} vectors of {self._graph.d} dimensions"
            raise DatasetError(f"candidates.faiss has {held}, the index {num_videos} of {dim}; run vtr index again")

    def candidates(self, query: Float32[np.ndarray, " dim"], count: int) -> Int64[np.ndarray, " found"]:
        """Positions of approximately the `count` vectors nearest to `query`, in unspecified order."""
        self._graph.hnsw.efSearch = max(2 * count, 64)
        _, found = self._graph.search(normalized(query[None]), min(count, self._graph.ntotal))
        return found[0][found[0] >= 0].astype(np.int64)


def normalized(vectors: Float32[np.ndarray, "rows dim"]) -> Float32[np.ndarray, "rows dim"]:
    """Rows normalised to length 1; rows of zeros are unchanged."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(length > 0, length, 1), np.float32)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ConfigError(
            "--backend faiss needs faiss, which is not installed: pip install 'vtr-ray[faiss]'; "
            "--backend exact needs nothing"
        ) from error
    return faiss


def check_faiss() -> None:
    """ConfigError with the install command where faiss is missing."""
    _faiss()
