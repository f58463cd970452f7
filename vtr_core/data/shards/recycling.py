"""Memory for arrays that is used again: writing to fresh pages costs several times what copying into old ones does."""

import sys

import numpy as np

_UNUSED = 3
"""References to a block that nobody uses: the list's, the local name's, and `getrefcount`'s own."""


class RecycledMemory:
    """Gives out arrays like `numpy.empty`; a block is given out anew once nothing refers to it or to a view of it.

    It holds as many blocks as were ever in use at the same time, and forgets those that are too small for a request.
    """

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []

    def empty(self, shape: int | tuple[int, ...], dtype: np.typing.DTypeLike = np.uint8) -> np.ndarray:
        """An array of this shape with arbitrary content."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return self._block(size)[:size].view(dtype).reshape(shape)

    def __reduce__(self) -> tuple[type["RecycledMemory"], tuple[()]]:
        return RecycledMemory, ()  # a copy in another process begins with nothing

    def _block(self, size: int) -> np.ndarray:
        smaller = None
        for index in range(len(self._blocks)):  # enumerate would hold a reference of its own
            block = self._blocks[index]
            if sys.getrefcount(block) == _UNUSED:
                if size <= len(block) <= 2 * size:
                    return block
                if len(block) < size:
                    smaller = index
        if smaller is not None:
            del self._blocks[smaller]
        block = np.empty(size, np.uint8)
        self._blocks.append(block)
        return block
