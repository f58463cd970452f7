"""BigFile: the features of a collection in one folder, the format of the published code of dual encoding.

`shape.txt` holds the numbers of vectors and of values, `id.txt` the vectors' names, `feature.bin` the vectors as
little-endian float32, one after another (github.com/danieljf24/hybrid_space, basic/bigfile.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float16, Float32

from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.features.npy import check_values
from vtr_core.data.sources.features.pooling import to_float16
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.errors import InputError
from vtr_core.storage import Location

_BYTES = 4
FILES = ("feature.bin", "shape.txt", "id.txt")


@dataclass(frozen=True)
class BigFile:
    """The vectors of the folder `location`, by name."""

    location: Location

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Vectors and values of each; InputError where the files do not go together."""
        place = self.location / "shape.txt"
        words = self._text(place).split()
        if len(words) != 2 or not all(word.isdigit() and int(word) for word in words):
            raise InputError(f"{place} holds {' '.join(words)[:40]!r}, not the numbers of vectors and of values")
        count, dim = int(words[0]), int(words[1])
        found = self.location.filesystem.get_file_info(f"{self.location.path}/feature.bin").size
        if found != count * dim * _BYTES:
            raise InputError(
                f"{self.location / 'feature.bin'} has {found} bytes where {count} vectors of {dim} values need "
                f"{count * dim * _BYTES}; download it again"
            )
        return count, dim

    @cached_property
    def row(self) -> dict[str, int]:
        """The position of every name; InputError where there are not as many as vectors, or one stands twice."""
        names = self._text(self.location / "id.txt").split()
        row = {name: number for number, name in enumerate(names)}
        if len(names) != self.shape[0] or len(row) != len(names):
            raise InputError(
                f"{self.location / 'id.txt'} has {len(names)} names, {len(row)} of them different, for "
                f"{self.shape[0]} vectors; download it again"
            )
        return row

    def read(self, names: Sequence[str]) -> Float32[np.ndarray, "names dim"]:
        """The vectors of the given, existing names, in order; adjacent ones are read together."""
        dim = self.shape[1]
        rows = [self.row[name] for name in names]
        values = np.empty((len(rows), dim), np.float32)
        with self.location.filesystem.open_input_file(f"{self.location.path}/feature.bin") as stream:
            first = 0
            while first < len(rows):
                last = first + 1
                while last < len(rows) and rows[last] == rows[last - 1] + 1:
                    last += 1
                content = stream.read_at((last - first) * dim * _BYTES, rows[first] * dim * _BYTES)
                values[first:last] = np.frombuffer(content, "<f4").reshape(last - first, dim)
                first = last
        return values

    def _text(self, place: Location) -> str:
        try:
            with place.filesystem.open_input_stream(place.path) as stream:
                return stream.read().decode("latin-1")  # as the published reader takes names
        except OSError as error:
            raise InputError(
                f"{place} cannot be read ({error}); give a folder of {', '.join(FILES)}, the BigFile format"
            ) from error


@dataclass(frozen=True)
class BigFileFrames:
    """The frames of videos in a BigFile: vectors called `<video>_<number>`, in the order of their numbers.

    single: every vector is a video of one frame, whose id is the vector's name.
    """

    file: BigFile
    single: bool = False

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """The vectors of every video; InputError for a name without a number."""
        if self.single:
            return {name: [name] for name in self.file.row}
        found: dict[str, list[tuple[int, str]]] = {}
        for name in self.file.row:
            video, _, number = name.rpartition("_")
            if not video or not number.isdigit():
                raise InputError(
                    f"{self.file.location / 'id.txt'}: {name[:80]!r} is not <video>_<number>; with --single every "
                    "vector is a video"
                )
            found.setdefault(video, []).append((int(number), name))
        return {video: [name for _, name in sorted(frames)] for video, frames in found.items()}

    @property
    def dim(self) -> int:
        """Values of a frame."""
        return self.file.shape[1]

    def ids(self) -> Iterable[str]:
        """The videos, in the order of their first vectors."""
        return self.names

    def read(self, video_id: str) -> Float16[np.ndarray, "frames dim"]:
        """The frames of a video; UnusableError where it has none, or values that float16 cannot hold."""
        if video_id not in self.names:
            raise UnusableError(Reason.MISSING_FILE, f"{self.file.location / 'id.txt'} has no frame of {video_id}")
        where = f"{self.file.location / 'feature.bin'}, {video_id}"
        frames = self.file.read(self.names[video_id])
        check_values(frames, where)
        found = to_float16(frames, where)
        assert found.dtype == FEATURE_DTYPE
        return found
