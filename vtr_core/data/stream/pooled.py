"""Memory for batches from pyarrow's pool, which reuses released memory.

Writing to fresh pages of the system costs several times what copying into used ones does.
"""

import math

import numpy as np
import pyarrow as pa


def pooled(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of this shape with arbitrary content, like `numpy.empty`."""
    if dtype.hasobject:
        return np.empty(shape, dtype)
    count = math.prod(shape)
    return np.frombuffer(pa.allocate_buffer(count * dtype.itemsize), dtype, count).reshape(shape)
