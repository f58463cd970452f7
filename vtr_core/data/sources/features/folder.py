"""Feature folders, one per stream of a data set: lookup, reading, cropping to clips and pooling of files."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from vtr_core import storage
from vtr_core.data.sources.features.npy import FeatureArray, read_feature
from vtr_core.data.sources.features.pooling import Pool, l2, pool, pooled_dim, window
from vtr_core.data.sources.names import check_id, check_path, is_elsewhere
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

T = TypeVar("T", bound=Hashable)

PROBES = 5
"""Number of readable files whose most frequent dimension is the folder's, so that a single odd file is ignored."""
FAULTS, MOST_FAULTS = 100, 100_000
"""Numbers of names without a readable file, before the first one, after which it is asked whether the folder is there,
and after which none is expected; a request each on object stores. A list of a million videos may have few files."""


@dataclass(frozen=True)
class FeatureFolder:
    """The files `<folder>/<video id>.npy`, or with `by_path`, files by their paths below the folder.

    Rows come `fps` a second, are pooled as `how` says, and brought to length 1 where `normalise` is set. By path,
    arrays of more than two axes are allowed and read as (time, product of the others).
    """

    location: Location
    how: Pool
    fps: float = 1.0
    normalise: bool = True
    by_path: bool = False
    anywhere: bool = False
    """Whether absolute paths and URIs are allowed (with `by_path`)."""

    def file(self, name: str) -> Location:
        """The file of a video id (or path), there or not; UnusableError where the name leads out of the folder."""
        if self.anywhere and is_elsewhere(name):
            return locate(name)
        if self.by_path:
            check_path(name)
            return self.location / name
        check_id(name)
        return self.location / f"{name}.npy"

    def read(self, name: str, dim: int | None = None) -> FeatureArray:
        """The array of a video id (or path); UnusableError where it cannot be read or would not give `dim` values."""
        file = self.file(name)
        array = read_feature(file, flatten=self.by_path)
        found = pooled_dim(array, self.how)
        if dim is not None and found != dim:
            what = f"{file} has shape {array.shape}, which gives {found} values ({self.how} pooling)"
            raise UnusableError(Reason.WRONG_DIMENSION, f"{what}; this data set has {dim}")
        return array

    def clip(self, name: str, array: FeatureArray, start: float, end: float | None) -> Float[np.ndarray, " dim"]:
        """The vector of the span from `start` to `end` in seconds of the `array` that `read(name)` gave.

        All rows where `end` is None. Raises UnusableError, naming the file, where the span lies after the last row.
        """
        rows = array if end is None or array.ndim == 1 else window(array, start, end, self.fps, str(self.file(name)))
        vector = pool(rows, self.how)
        return l2(vector) if self.normalise else vector

    def duration(self, array: FeatureArray) -> float:
        """Seconds covered by the rows; 0 for a single vector, whose duration is unknown."""
        return len(array) / self.fps if array.ndim > 1 else 0.0

    def dim(self, names: Iterable[str]) -> int:
        """The commonest length of a pooled vector among the first readable files of `names`, as `commonest`."""
        return commonest(self.location, names, lambda name: pooled_dim(self.read(name), self.how))


def commonest(folder: Location, names: Iterable[str], probe: Callable[[str], T]) -> T:
    """The commonest `probe(name)` among the first PROBES files of `names` in `folder` that can be read.

    Raises InputError, with the first fault, where none can, or none of the first MOST_FAULTS.
    """
    faults: list[str] = []
    found = Counter(islice(_readable(folder, names, probe, faults), PROBES))
    if not found:
        reason = faults[0] if faults else "none is named"
        raise InputError(f"no feature file in {folder} can be used ({reason}); give the folder of the files")
    return found.most_common(1)[0][0]


def _readable(folder: Location, names: Iterable[str], probe: Callable[[str], T], faults: list[str]) -> Iterator[T]:
    has_any = False
    for name in names:
        try:
            yield probe(name)
            has_any = True
        except UnusableError as fault:
            faults.append(str(fault))
            if not has_any and (len(faults) >= MOST_FAULTS or (len(faults) == FAULTS and not storage.exists(folder))):
                return
