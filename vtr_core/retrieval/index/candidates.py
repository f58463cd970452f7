"""Candidates by approximate nearest neighbour search with faiss, for millions of videos: HNSW and IVF-PQ.

An index keeps them as plain arrays, from which faiss's objects are made when it is opened: what faiss itself would
store is never parsed, as its reader is not made for files of strangers. Shapes, and every number that is used as an
address, are checked before. faiss is an optional extra, imported only here, on use.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, assert_never

import numpy as np
from jaxtyping import Float32, Int32, Int64

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
_DIMENSIONS, _MOST_PARTS, _BITS = 4, 256, 4
"""ivf-pq: dimensions of a part, whose code has 4 bits; the sums of more parts' 8 bits would exceed 16 bits."""
_AT_ONCE = 65_536
_LARGEST_VALUE = 4.0
"""No centroid or range of vectors of length 1 has a larger value; sums of larger ones could be infinite."""
_ARRAYS: Mapping[Approximate, Mapping[str, str]] = MappingProxyType(
    {
        "hnsw": {"levels": "i4", "neighbours": "i4", "entry": "i4", "codes": "u1", "ranges": "f4"},
        "ivf-pq": {"centroids": "f4", "parts": "f4", "sizes": "i8", "rows": "i8", "codes": "u1"},
    }
)
"""The arrays of each kind and their types, see `_graph_arrays` and `_list_arrays`."""
Arrays = dict[str, np.ndarray]


def build_candidates(vectors: Float32[np.ndarray, "videos dim"], kind: Approximate) -> Arrays | None:
    """Candidates of the L2-normalised vectors by faiss, searched by inner product, as arrays by name.

    None where there are too few vectors for it: they are searched exactly. hnsw: a graph over vectors of 8 bits a
    dimension. ivf-pq: lists around 2 √n centroids, of vectors quantised to 4 bits for four dimensions (Jégou et al.
    2011), whose distances are looked up in registers (André et al. 2015, "Cache locality is not enough"). Of both the
    candidates are compared again by the vectors themselves.
    """
    rows, dim = vectors.shape
    match kind:
        case "hnsw":
            built, training = _new_graph(dim), rows
            built.hnsw.efConstruction = CONSTRUCTION
        case "ivf-pq":
            if rows < FEWEST:
                return None
            lists = 2 ** round(math.log2(2 * math.sqrt(rows)))
            most = max(1, min(_MOST_PARTS, dim // _DIMENSIONS))
            built = _new_lists(dim, lists, max(count for count in range(1, most + 1) if dim % count == 0))
            built.cp.niter = built.pq.cp.niter = _ROUNDS
            training = max(FEWEST, _PER_CENTROID * lists)
        case _:
            assert_never(kind)
    sample = np.random.default_rng(0).choice(rows, min(rows, training, _AT_ONCE * 4), replace=False)
    built.train(normalized(vectors[np.sort(sample)]))
    for first in range(0, rows, _AT_ONCE):
        built.add(normalized(vectors[first : first + _AT_ONCE]))
    return _graph_arrays(built) if kind == "hnsw" else _list_arrays(built)


def _new_graph(dim: int) -> Any:
    faiss = load_faiss()
    return faiss.IndexHNSWSQ(dim, faiss.ScalarQuantizer.QT_8bit, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)


def _new_lists(dim: int, lists: int, parts: int) -> Any:
    """Lists of whole vectors' codes: with residuals distances could not be looked up in registers."""
    faiss = load_faiss()
    built = faiss.IndexIVFPQ(faiss.IndexFlatIP(dim), dim, lists, parts, _BITS, faiss.METRIC_INNER_PRODUCT)
    built.by_residual = False
    return built


def _graph_arrays(graph: Any) -> Arrays:
    """levels (videos,): of how many levels each vector is; neighbours: of each vector, level by level, -1 for none;
    entry (1,): where a search begins; codes (videos, dim); ranges (2 dim,): least value and extent of each dimension.
    """
    faiss = load_faiss()
    coded = faiss.downcast_index(graph.storage)
    return {
        "levels": faiss.vector_to_array(graph.hnsw.levels),
        "neighbours": faiss.vector_to_array(graph.hnsw.neighbors),
        "entry": np.array([graph.hnsw.entry_point], np.int32),
        "codes": faiss.vector_to_array(coded.codes).reshape(graph.ntotal, graph.d),
        "ranges": faiss.vector_to_array(coded.sq.trained),
    }


def _list_arrays(lists: Any) -> Arrays:
    """centroids (lists, dim); parts (parts, 16, dim / parts): the vectors that codes stand for; sizes (lists,): of how
    many vectors each list is; rows (videos,) and codes (videos, bytes): of the lists' vectors, one list after another.
    """
    faiss = load_faiss()
    stored, count = lists.invlists, lists.nlist
    sizes = np.array([stored.list_size(number) for number in range(count)], np.int64)
    rows = [faiss.rev_swig_ptr(stored.get_ids(number), int(sizes[number])) for number in range(count)]
    width = lists.pq.code_size
    codes = [faiss.rev_swig_ptr(stored.get_codes(number), int(sizes[number]) * width) for number in range(count)]
    return {
        "centroids": lists.quantizer.reconstruct_n(0, count),
        "parts": faiss.vector_to_array(lists.pq.centroids).reshape(lists.pq.M, lists.pq.ksub, lists.pq.dsub),
        "sizes": sizes,
        "rows": np.concatenate(rows),
        "codes": np.concatenate(codes).reshape(-1, width),
    }


class Candidates:
    """What `build_candidates` made, searched by faiss; its arrays may be anybody's and are checked."""

    def __init__(self, arrays: Mapping[str, np.ndarray], num_videos: int, dim: int) -> None:
        kind = next((kind for kind, dtypes in _ARRAYS.items() if dtypes.keys() == arrays.keys()), None)
        try:
            if kind is None or any(arrays[name].dtype != np.dtype(dtype) for name, dtype in _ARRAYS[kind].items()):
                raise ValueError(f"they are {', '.join(arrays)}, of no kind that vtr index writes")
            self._index: Any = _graph(arrays, num_videos, dim) if kind == "hnsw" else _lists(arrays, num_videos, dim)
        except ValueError as error:
            raise DatasetError(f"the index's candidates are damaged ({error}); run vtr index again") from error

    def find(self, queries: Float32[np.ndarray, "queries dim"], count: int) -> list[Int64[np.ndarray, " near"]]:
        """For each query, positions of approximately the `count` vectors nearest to it, ascending."""
        faiss = load_faiss()
        if isinstance(self._index, faiss.IndexHNSW):
            effort = faiss.SearchParametersHNSW(efSearch=max(2 * count, 64))
        else:
            effort = faiss.SearchParametersIVF(nprobe=max(8, self._index.nlist // _SHARE_SEARCHED))
        _, positions = self._index.search(normalized(queries), min(count, self._index.ntotal), params=effort)
        return [np.sort(row[row >= 0]).astype(np.int64) for row in positions]


def _graph(arrays: Mapping[str, np.ndarray], num_videos: int, dim: int) -> Any:
    """faiss's graph of the arrays; ValueError where a link leads to no vector, or to one that is not on its level."""
    faiss = load_faiss()
    graph = _new_graph(dim)
    levels, neighbours, ranges = arrays["levels"], arrays["neighbours"], arrays["ranges"]
    _require_shapes(arrays, levels=(num_videos,), entry=(1,), codes=(num_videos, dim), ranges=(2 * dim,))
    _require_values(ranges)
    widths = faiss.vector_to_array(graph.hnsw.cum_nneighbor_per_level).astype(np.int64)
    if num_videos == 0 or levels.min() < 1 or levels.max() >= len(widths):
        raise ValueError(f"vectors are of 1 to {len(widths) - 1} levels")
    offsets = np.concatenate([[0], np.cumsum(widths[levels])])
    _require_shapes(arrays, neighbours=(int(offsets[-1]),))
    entry = int(arrays["entry"][0])
    if not 0 <= entry < num_videos or levels[entry] != levels.max():
        raise ValueError("the search begins at no vector of the highest level")
    _require_links(neighbours, levels, offsets, widths)
    coded = faiss.downcast_index(graph.storage)
    for values, place in (
        (levels, graph.hnsw.levels),
        (neighbours, graph.hnsw.neighbors),
        (offsets.astype(np.uint64), graph.hnsw.offsets),
        (arrays["codes"].reshape(-1), coded.codes),
        (ranges, coded.sq.trained),
    ):
        faiss.copy_array_to_vector(np.ascontiguousarray(values), place)
    graph.hnsw.entry_point, graph.hnsw.max_level = entry, int(levels.max()) - 1
    graph.ntotal = coded.ntotal = num_videos
    graph.is_trained = coded.is_trained = True
    return graph


def _require_links(
    neighbours: Int32[np.ndarray, " links"],
    levels: Int32[np.ndarray, " videos"],
    offsets: Int64[np.ndarray, " videos_and_end"],
    widths: Int64[np.ndarray, " levels"],
) -> None:
    """ValueError unless every link leads to a vector, and on the upper levels to one that is on the same level: faiss
    would read the links of another beyond their end.
    """
    if neighbours.min() < -1 or neighbours.max() >= len(levels):
        raise ValueError("a link leads to no vector")
    for level in range(1, int(levels.max())):
        members = np.flatnonzero(levels > level)
        first = offsets[members] + widths[level]
        links = neighbours[first[:, None] + np.arange(widths[level + 1] - widths[level])]
        if np.any((links >= 0) & (levels[links] <= level)):
            raise ValueError(f"a link of level {level} leads to a vector that is not on it")


def _lists(arrays: Mapping[str, np.ndarray], num_videos: int, dim: int) -> Any:
    """faiss's lists of the arrays, with codes laid out for registers; ValueError for a row that is no vector's."""
    faiss = load_faiss()
    centroids, parts, sizes, rows = (arrays[name] for name in ("centroids", "parts", "sizes", "rows"))
    if centroids.ndim != 2 or parts.ndim != 3 or not 1 <= len(centroids) <= max(1, num_videos):
        raise ValueError("it has no lists")
    count = len(parts)
    if not 1 <= count <= _MOST_PARTS or dim % count:
        raise ValueError(f"vectors of {dim} values have no {count} parts")
    _require_shapes(
        arrays,
        centroids=(len(centroids), dim),
        parts=(count, 2**_BITS, dim // count),
        sizes=(len(centroids),),
        rows=(num_videos,),
        codes=(num_videos, -(-count * _BITS // 8)),
    )
    _require_values(centroids)
    _require_values(parts)
    if sizes.min() < 0 or sizes.max() > num_videos or int(sizes.sum()) != num_videos:
        raise ValueError(f"its lists do not hold {num_videos} vectors")
    if num_videos and (rows.min() < 0 or rows.max() >= num_videos):
        raise ValueError("a list holds a row that there is not")
    plain = _new_lists(dim, len(centroids), count)
    plain.quantizer.add(np.ascontiguousarray(centroids))
    faiss.copy_array_to_vector(np.ascontiguousarray(parts.reshape(-1)), plain.pq.centroids)
    plain.is_trained, first = True, 0
    for number, size in enumerate(sizes.tolist()):
        if size:
            ids, codes = (np.ascontiguousarray(arrays[name][first : first + size]) for name in ("rows", "codes"))
            plain.invlists.add_entries(number, size, faiss.swig_ptr(ids), faiss.swig_ptr(codes))
        first += size
    plain.ntotal = num_videos
    packed = faiss.IndexIVFPQFastScan(plain)
    packed.referenced_objects = [plain]  # whose centroids it searches
    return packed


def _require_shapes(arrays: Mapping[str, np.ndarray], **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}, the index needs {shape}")


def _require_values(values: Float32[np.ndarray, "..."]) -> None:
    if not np.all(np.abs(values) <= _LARGEST_VALUE):  # NaN is no less
        raise ValueError(f"it holds values beyond {_LARGEST_VALUE:g}")


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
