"""Memory for batches from pyarrow's pool, which recycles released memory.

Writing to new memory pages costs several times as much as writing to used ones.
"""

import math

import numpy as np
import pyarrow as pa


def pooled(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array of this shape, like `numpy.empty`."""
    if dtype.hasobject:
        return np.empty(shape, dtype)
    count = math.prod(shape)
    return np.frombuffer(pa.allocate_buffer(count * dtype.itemsize), dtype, count).reshape(shape)
