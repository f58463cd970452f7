"""Reading of a column of a local file straight into the memory of batches, so that each byte is copied once.

A column that lies plainly in a file is read in order, rows that follow one another in file and batch with one system
call; its checksum is computed piece by piece while a piece is in the processor's cache. Rows that no batch wants are
read too, for the checksum, and dropped.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt8

from vtr_core.data.shards.plain_pages import Checksum, PageFault

_PIECE = 2**18
"""Bytes that are read at once, few enough to stay in a core's cache until their checksum is computed."""
_BUFFERS = 256
"""Pieces of memory that are filled at once; Linux allows 1024."""


@dataclass(frozen=True)
class Stretch:
    """Rows `first` to `last` of a column, which are the rows from `offset` on of target `target`; None: of none."""

    first: int
    last: int
    target: int | None = None
    offset: int = 0


class Scatter:
    """Which rows of a column go where: row `rows[i][j]` of `total` is row j of target i.

    A row may be wanted by several targets, or several times.
    """

    def __init__(self, rows: Sequence[Int64[np.ndarray, " _"]], total: int) -> None:
        wanted = np.concatenate(rows)
        assert wanted.max() < total, "a plan names rows that its row group does not have"
        order = np.argsort(wanted, kind="stable")
        self._total, self._row = total, wanted[order]
        lengths = np.array(list(map(len, rows)))
        self._target = np.repeat(np.arange(len(rows)), lengths)[order]
        self._offset = order - np.repeat(np.cumsum(lengths) - lengths, lengths)[order]
        self._new = np.concatenate([[True], self._row[1:] != self._row[:-1]])
        self._again = np.flatnonzero(~self._new).tolist()
        self.stretches = list(self._stretches())

    def _stretches(self) -> Iterator[Stretch]:
        """All rows of the column, in order."""
        row, target, offset = self._row[self._new], self._target[self._new], self._offset[self._new]
        breaks = np.flatnonzero((np.diff(row) != 1) | (np.diff(target) != 0) | (np.diff(offset) != 1)) + 1
        begins, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(row)]
        done = 0
        for begin, end in zip(begins, ends, strict=True):
            first = int(row[begin])
            if first > done:
                yield Stretch(done, first)
            done = first + end - begin
            yield Stretch(first, done, int(target[begin]), int(offset[begin]))
        if done < self._total:
            yield Stretch(done, self._total)

    def repeat(self, targets: Sequence[np.ndarray]) -> None:
        """Copy rows that are wanted several times from their first target to the others."""
        for again in self._again:  # the one before has the same row
            row = targets[self._target[again - 1]][self._offset[again - 1]]
            targets[self._target[again]][self._offset[again]] = row


def read_scattered(
    descriptor: int,
    offset: int,
    scatter: Scatter,
    targets: Sequence[UInt8[np.ndarray, "_ width"]],
    checksum: Checksum,
) -> None:
    """Read a column's rows, which begin at byte `offset`, into the targets, which are contiguous.

    Raises PageFault where the file ends too early or the checksum differs; what the targets then hold is undefined.
    """
    for pieces, size in _together(_memory(scatter, targets)):
        _fill(descriptor, offset, pieces.copy(), size)
        offset += size
        for piece in pieces:
            checksum.add(piece)
    checksum.compare()
    scatter.repeat(targets)


def _memory(scatter: Scatter, targets: Sequence[np.ndarray]) -> Iterator[tuple[memoryview | None, int]]:
    """The bytes of every stretch, in pieces: their memory, None for those that are dropped, and their number."""
    width, flat = targets[0].shape[1], [target.reshape(-1).data for target in targets]
    for stretch in scatter.stretches:
        size, memory, first = (stretch.last - stretch.first) * width, None, 0
        if stretch.target is not None:
            memory, first = flat[stretch.target], stretch.offset * width
        for begin in range(0, size, _PIECE):
            length = min(_PIECE, size - begin)
            yield (None if memory is None else memory[first + begin : first + begin + length]), length


def _together(pieces: Iterable[tuple[memoryview | None, int]]) -> Iterator[tuple[list[memoryview], int]]:
    """The memory of consecutive pieces that are read at once, and its bytes.

    Dropped pieces share memory with those of other turns.
    """
    dropped = memoryview(bytearray(_PIECE))
    held: list[memoryview] = []
    bytes_held = bytes_dropped = 0
    for memory, size in pieces:
        if held and (bytes_held + size > _PIECE or len(held) == _BUFFERS):
            yield held, bytes_held
            held, bytes_held, bytes_dropped = [], 0, 0
        if memory is None:
            memory = dropped[bytes_dropped : bytes_dropped + size]
            bytes_dropped += size
        held.append(memory)
        bytes_held += size
    if held:
        yield held, bytes_held


def _fill(descriptor: int, offset: int, pieces: list[memoryview], size: int) -> None:
    """Fill all pieces, of `size` bytes together, from `offset` on; a read may end before they are full."""
    while size:
        count = os.preadv(descriptor, pieces, offset)
        if count == 0:
            raise PageFault("it ends too early")
        offset, size = offset + count, size - count
        if not size:
            return
        while count >= len(pieces[0]):
            count -= len(pieces.pop(0))
        pieces[0] = pieces[0][count:]
