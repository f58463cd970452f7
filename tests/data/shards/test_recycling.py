"""Memory is given out again when nobody refers to it, and never while somebody does."""

import pickle

import numpy as np
import pyarrow as pa

from vtr_core.data.shards.recycling import RecycledMemory


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_what_is_let_go_is_used_again() -> None:
    memory = RecycledMemory()
    first = memory.empty((100, 3), np.float16)
    assert (first.shape, first.dtype) == ((100, 3), np.float16)
    place = address(first)
    del first
    assert address(memory.empty(600)) == place


def test_what_is_referred_to_is_left_alone() -> None:
    memory = RecycledMemory()
    held = memory.empty(64)
    view = memory.empty(64)[10:20]
    buffer = pa.py_buffer(memory.empty(64))
    held[:], view[:] = 1, 2
    taken = [memory.empty(64) for _ in range(5)]
    for array in taken:
        array[:] = 9
    assert held.tolist() == [1] * 64
    assert view.tolist() == [2] * 10
    assert address(np.frombuffer(buffer, np.uint8)) not in {address(array) for array in taken}


def test_blocks_too_small_are_forgotten_and_much_larger_ones_not_given() -> None:
    memory = RecycledMemory()
    memory.empty(1000)
    small = memory.empty(10)
    assert small.base is not None
    assert len(small.base) == 10
    del small
    memory.empty(2000)
    assert sorted(len(block) for block in memory._blocks) == [1000, 2000]


def test_a_copy_begins_with_nothing() -> None:
    memory = RecycledMemory()
    memory.empty(10**6)
    assert len(pickle.dumps(memory)) < 1000
