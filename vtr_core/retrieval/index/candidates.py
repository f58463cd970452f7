"""Candidates by approximate nearest neighbour search with faiss, for millions of videos: HNSW and IVF-PQ.

faiss is an optional extra, imported only here, on use.
"""

import math
from typing import Any, assert_never

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core.errors import ConfigError, DatasetError, how_to_install
from vtr_core.retrieval.index.index import Approximate, Shard

NEIGHBOURS = 32
"""hnsw: links per vector of the graph (M of Malkov and Yashunin 2018)."""
CONSTRUCTION = 80
"""hnsw: candidates examined per insertion while the graph is built (efConstruction)."""
FEWEST = 10_000
"""ivf-pq: fewer vectors than this have no candidates: exact search of them is as fast."""
_PER_CENTROID = 40
"""ivf-pq: training vectors of each list's centroid."""
_ROUNDS = 10
_SHARE_SEARCHED = 2
"""ivf-pq: one list of so many is searched, eight at least."""
_DIMENSIONS, _MOST_PARTS = 4, 256
"""ivf-pq: dimensions of a part, whose code has 4 bits; the sums of more parts' 8 bits would exceed 16 bits."""
_AT_ONCE = 65_536
_MARKS = (b"IHNs", b"IwPf")
"""How faiss's files of `build_candidates` begin: IndexHNSWSQ, IndexIVFPQFastScan. No other class is parsed."""


def build_candidates(vectors: Float32[np.ndarray, "videos dim"], kind: Approximate) -> memoryview | None:
    """An index of the L2-normalised vectors by faiss, searched by inner product, in its serialised form.

    None where there are too few vectors for it: they are searched exactly. hnsw: a graph over vectors of 8 bits a
    dimension. ivf-pq: lists around 2 √n centroids, of residuals quantised to 4 bits for four dimensions (Jégou et al.
    2011), whose distances are looked up in registers (André et al. 2015, "Cache locality is not enough"). Of both the
    candidates are compared again by the vectors themselves.
    """
    faiss = load_faiss()
    rows, dim = vectors.shape
    match kind:
        case "hnsw":
            built = faiss.IndexHNSWSQ(dim, faiss.ScalarQuantizer.QT_8bit, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
            built.hnsw.efConstruction = CONSTRUCTION
            training = rows
        case "ivf-pq":
            if rows < FEWEST:
                return None
            lists = 2 ** round(math.log2(2 * math.sqrt(rows)))
            most = max(1, min(_MOST_PARTS, dim // _DIMENSIONS))
            parts = max(count for count in range(1, most + 1) if dim % count == 0)
            centroids = faiss.IndexFlatIP(dim)
            built = faiss.IndexIVFPQFastScan(centroids, dim, lists, parts, 4, faiss.METRIC_INNER_PRODUCT)
            built.cp.niter = built.pq.cp.niter = _ROUNDS
            training = max(FEWEST, _PER_CENTROID * lists)
        case _:
            assert_never(kind)
    sample = np.random.default_rng(0).choice(rows, min(rows, training, _AT_ONCE * 4), replace=False)
    built.train(normalized(vectors[np.sort(sample)]))
    for first in range(0, rows, _AT_ONCE):
        built.add(normalized(vectors[first : first + _AT_ONCE]))
    return faiss.serialize_index(built).data


class Candidates:
    """What `build_candidates` wrote, used where it lies, without a copy.

    Its bytes must come from an index whose hashes were checked.
    """

    def __init__(self, content: memoryview, num_videos: int, dim: int) -> None:
        if bytes(content[:4]) not in _MARKS:
            raise DatasetError("the index's candidates are of no kind that vtr index writes; run vtr index again")
        faiss = load_faiss()
        self._content = np.frombuffer(content, np.uint8)  # faiss keeps its address alone
        try:
            reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(self._content), self._content.nbytes)
            self._graph: Any = faiss.read_index(reader, faiss.IO_FLAG_MMAP_IFC)
        except Exception as error:  # faiss raises plain RuntimeErrors of C++
            raise DatasetError(f"the index's candidates are damaged ({error}); run vtr index again") from error
        if (self._graph.ntotal, self._graph.d) != (num_videos, dim):
            sizes = f"{self._graph.ntotal} vectors of {self._graph.d} dimensions"
            raise DatasetError(f"the candidates are of {sizes}, the index {num_videos} of {dim}; run vtr index again")

    def find(self, queries: Float32[np.ndarray, "queries dim"], count: int) -> list[Int64[np.ndarray, " near"]]:
        """For each query, positions of approximately the `count` vectors nearest to it, ascending."""
        faiss = load_faiss()
        if isinstance(self._graph, faiss.IndexHNSW):
            effort = faiss.SearchParametersHNSW(efSearch=max(2 * count, 64))
        else:
            effort = faiss.SearchParametersIVF(nprobe=max(8, self._graph.nlist // _SHARE_SEARCHED))
        _, positions = self._graph.search(normalized(queries), min(count, self._graph.ntotal), params=effort)
        return [np.sort(row[row >= 0]).astype(np.int64) for row in positions]


def candidates_of(shard: Shard, name: str) -> Candidates | None:
    """Those of a shard, of the dimension of its tensor `name`; None where it has none."""
    if shard.candidates is None:
        return None
    return Candidates(shard.candidates, len(shard.items), shard.tensors[name].shape[1])


def normalized(vectors: Float32[np.ndarray, "rows dim"]) -> Float32[np.ndarray, "rows dim"]:
    """Rows normalised to length 1; rows of zeros are unchanged."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(length > 0, length, 1), np.float32)


def load_faiss() -> Any:
    """The module; ConfigError with the install command where it is missing."""
    try:
        import faiss
    except ImportError as error:
        raise ConfigError(
            f"an index by hnsw or ivf-pq needs faiss, which is not installed: {how_to_install('faiss')}; "
            "--backend exact needs nothing"
        ) from error
    return faiss
