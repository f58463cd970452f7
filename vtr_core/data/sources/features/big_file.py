"""The frames of videos in a BigFile."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float16

from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.features.npy import check_values
from vtr_core.data.sources.features.pooling import to_float16
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.errors import InputError
from vtr_core.storage import StorageError
from vtr_core.storage.big_file import BigFile


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
        """The frames of a video; UnusableError where it has none, or values that float16 cannot hold.

        StorageError where the file cannot be read, which is no fault of the video.
        """
        if video_id not in self.names:
            raise UnusableError(Reason.MISSING_FILE, f"{self.file.location / 'id.txt'} has no frame of {video_id}")
        where = f"{self.file.location / 'feature.bin'}, {video_id}"
        try:
            frames = self.file.read(self.names[video_id])
        except OSError as error:
            raise StorageError(f"{where} cannot be read ({error}); run the same command again to resume") from error
        check_values(frames, where)
        found = to_float16(frames, where)
        assert found.dtype == FEATURE_DTYPE
        return found
