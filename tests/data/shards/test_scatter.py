"""Rows of a column that are read straight into their places are those of the whole column."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtr_core.data.shards import pages as module
from vtr_core.data.shards.pages import Checksum, PageFault, Scatter, read_scattered

ROWS, WIDTH = 40, 24
COLUMN = np.random.default_rng(0).integers(0, 255, (ROWS, WIDTH), dtype=np.uint8)
BEFORE = 5


class Stated(Checksum):
    """A checksum without a page's header."""

    def __init__(self, stated: int = crc32(COLUMN.tobytes())) -> None:
        self._stated, self._found = stated, 0


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("column") / "c"
    found.write_bytes(b"x" * BEFORE + COLUMN.tobytes() + b"y")
    return found


@contextmanager
def opened(path: Path) -> Iterator[int]:
    with path.open("rb") as file:
        yield file.fileno()


def read(path: Path, rows: Sequence[Sequence[int]], checksum: Checksum) -> list[np.ndarray]:
    targets = [np.zeros((len(wanted), WIDTH), np.uint8) for wanted in rows]
    with opened(path) as descriptor:
        read_scattered(descriptor, BEFORE, Scatter(list(map(np.array, rows)), ROWS), targets, checksum)
    return targets


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=50), min_size=1, max_size=4),
    piece=st.sampled_from([7, WIDTH, 3 * WIDTH + 1, 10_000]),
    buffers=st.integers(1, 9),
)
def test_every_row_lies_where_it_is_wanted(path: Path, rows: list[list[int]], piece: int, buffers: int) -> None:
    """In any order, several times, by several targets, and however much is read at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", piece)
        patch.setattr(module, "_BUFFERS", buffers)
        found = read(path, rows, Stated())
    for wanted, values in zip(rows, found, strict=True):
        np.testing.assert_array_equal(values, COLUMN[wanted])


def test_stretches_are_as_long_as_they_can_be() -> None:
    found = Scatter([np.array([3, 4, 5, 9]), np.array([6, 7])], 10).stretches
    assert [(s.first, s.last, s.target, s.offset) for s in found] == [
        (0, 3, None, 0),
        (3, 6, 0, 0),
        (6, 8, 1, 0),
        (8, 9, None, 0),
        (9, 10, 0, 3),
    ]


def test_a_byte_that_no_batch_wants_is_verified_too(path: Path) -> None:
    with pytest.raises(PageFault, match="does not match its checksum"):
        read(path, [[0]], Stated(crc32(COLUMN.tobytes()) ^ 1))


def test_reads_that_end_before_all_is_there_go_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, pieces, offset: whole(file, [memoryview(pieces[0])[:5]], offset))
    np.testing.assert_array_equal(read(path, [[2, 3, 8]], Stated())[0], COLUMN[[2, 3, 8]])


def test_a_file_that_ends_too_early_is_a_fault(path: Path, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_bytes(path.read_bytes()[:-WIDTH])
    with pytest.raises(PageFault, match="ends too early"):
        read(short, [[0]], Stated())
