"""Candidates by approximate nearest neighbour search with faiss's IVF-PQ, for millions of videos.

An index keeps them as plain arrays, from which faiss's objects are made when it is opened: what faiss itself would
store is never parsed, as its reader is not made for files of strangers. Shapes, and every number that is used as an
address, are checked before. faiss is an optional extra, imported only here, on use.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core.errors import ConfigError, DatasetError, how_to_install
from vtr_core.retrieval.index.index import Shard

FEWEST = 10_000
"""Fewer vectors than this have no candidates: exact search of them is as fast."""
_PER_CENTROID = 40
"""Training vectors of each list's centroid."""
_ROUNDS = 10
_SHARE_SEARCHED = 2
"""One list of so many is searched, eight at least."""
_DIMENSIONS, _MOST_PARTS, _BITS = 4, 256, 4
"""Dimensions of a part, whose code has 4 bits; the sums of more parts' 8 bits would exceed 16 bits."""
_AT_ONCE = 65_536
_LARGEST_VALUE = 4.0
"""No centroid or range of vectors of length 1 has a larger value; sums of larger ones could be infinite."""
_DTYPES: Mapping[str, np.dtype] = MappingProxyType(
    {
        **dict.fromkeys(("centroids", "parts"), np.dtype(np.float32)),
        **dict.fromkeys(("sizes", "rows"), np.dtype(np.int64)),
        "codes": np.dtype(np.uint8),
    }
)
"""The arrays of candidates and their types, see `_list_arrays`."""
Arrays = dict[str, np.ndarray]


def build_candidates(vectors: Float32[np.ndarray, "videos dim"]) -> Arrays | None:
    """Candidates of the L2-normalised vectors by faiss, searched by inner product, as arrays by name.

    None where there are too few vectors for it: they are searched exactly. Lists around 2 √n centroids, of vectors
    quantised to 4 bits for four dimensions (Jégou et al. 2011), whose distances are looked up in registers (André et
    al. 2015, "Cache locality is not enough"). The candidates are compared again by the vectors themselves.
    """
    rows, dim = vectors.shape
    if rows < FEWEST:
        return None
    lists = 2 ** round(math.log2(2 * math.sqrt(rows)))
    most = max(1, min(_MOST_PARTS, dim // _DIMENSIONS))
    built = _new_lists(dim, lists, max(count for count in range(1, most + 1) if dim % count == 0))
    built.cp.niter = built.pq.cp.niter = _ROUNDS
    training = min(rows, max(FEWEST, _PER_CENTROID * lists), _AT_ONCE * 4)
    sample = np.random.default_rng(0).choice(rows, training, replace=False)
    built.train(normalized(vectors[np.sort(sample)]))
    for first in range(0, rows, _AT_ONCE):
        built.add(normalized(vectors[first : first + _AT_ONCE]))
    return _list_arrays(built)


def _new_lists(dim: int, lists: int, parts: int) -> Any:
    """Lists of whole vectors' codes: with residuals distances could not be looked up in registers."""
    faiss = load_faiss()
    built = faiss.IndexIVFPQ(faiss.IndexFlatIP(dim), dim, lists, parts, _BITS, faiss.METRIC_INNER_PRODUCT)
    built.by_residual = False
    return built


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
        try:
            if {name: array.dtype for name, array in arrays.items()} != _DTYPES:
                raise ValueError(f"they are {', '.join(arrays)}, not those that vtr index writes")
            self._lists: Any = _lists(arrays, num_videos, dim)
        except ValueError as error:
            raise DatasetError(f"the index's candidates are damaged ({error}); run vtr index again") from error

    def find(self, queries: Float32[np.ndarray, "queries dim"], count: int) -> list[Int64[np.ndarray, " near"]]:
        """For each query, positions of approximately the `count` vectors nearest to it, ascending."""
        effort = load_faiss().SearchParametersIVF(nprobe=max(8, self._lists.nlist // _SHARE_SEARCHED))
        _, positions = self._lists.search(normalized(queries), min(count, self._lists.ntotal), params=effort)
        return [np.sort(row[row >= 0]).astype(np.int64) for row in positions]


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
            f"an index by ivf-pq needs faiss, which is not installed: {how_to_install('faiss')}; "
            "--backend exact needs nothing"
        ) from error
    return faiss
