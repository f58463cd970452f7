"""BigFile: named vectors in one folder, of frames or of words, the format of the published code of dual encoding.

`shape.txt` holds the numbers of vectors and of values, `id.txt` the vectors' names, `feature.bin` the vectors as
little-endian float32, one after another (github.com/danieljf24/hybrid_space, basic/bigfile.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float32

from vtr_core.errors import InputError
from vtr_core.storage.location import Location

_BYTES = 4
FILES = ("feature.bin", "shape.txt", "id.txt")


@dataclass(frozen=True)
class BigFile:
    """The vectors of the folder `location`, by name."""

    location: Location

    def __getstate__(self) -> dict[str, object]:
        """Without the names, which every task would else be sent: 11 MB of 400,000 frames."""
        return {"location": self.location}

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Vectors and values of each; InputError where the files do not go together."""
        place = self.location / "shape.txt"
        words = self._content(place).decode("latin-1").split()
        if len(words) != 2 or not all(word.isdigit() and int(word) for word in words):
            raise InputError(f"{place} holds {' '.join(words)[:40]!r}, not the numbers of vectors and of values")
        count, dim = int(words[0]), int(words[1])
        size = (self.location / "feature.bin").info.size
        if size != count * dim * _BYTES:
            raise InputError(
                f"{self.location / 'feature.bin'} has {size} bytes where {count} vectors of {dim} values need "
                f"{count * dim * _BYTES}; download it again"
            )
        return count, dim

    @cached_property
    def row(self) -> dict[str, int]:
        """The position of every name; InputError where there are not as many as vectors, or one stands twice."""
        names = [name.decode("latin-1") for name in self._content(self.location / "id.txt").split()]  # as published
        row = {name: number for number, name in enumerate(names)}
        if len(names) != self.shape[0] or len(row) != len(names):
            raise InputError(
                f"{self.location / 'id.txt'} has {len(names)} names, {len(row)} of them different, for "
                f"{self.shape[0]} vectors; download it again"
            )
        return row

    def read(self, names: Sequence[str]) -> Float32[np.ndarray, "names dim"]:
        """The vectors of the given, existing names, in order; adjacent ones are read together."""
        return self.read_ranges(ranges([self.row[name] for name in names]))

    def read_ranges(self, places: Sequence[tuple[int, int]]) -> Float32[np.ndarray, "rows dim"]:
        """The vectors of ranges of rows, (first, count), in order, without knowing a name."""
        dim = self.shape[1]
        with (self.location / "feature.bin").open_file() as stream:
            parts = [stream.read_at(count * dim * _BYTES, first * dim * _BYTES) for first, count in places]
        return np.frombuffer(b"".join(parts), "<f4").reshape(-1, dim).astype(np.float32)

    def _content(self, place: Location) -> bytes:
        try:
            with place.open_stream() as stream:
                content: bytes = stream.read()
                return content
        except OSError as error:
            raise InputError(
                f"{place} cannot be read ({error}); give a folder of {', '.join(FILES)}, the BigFile format"
            ) from error


def ranges(rows: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The rows in order as (first, count) of adjacent ones."""
    edges = [0, *(place for place in range(1, len(rows)) if rows[place] != rows[place - 1] + 1), len(rows)]
    return tuple((rows[first], last - first) for first, last in pairwise(edges) if last > first)
