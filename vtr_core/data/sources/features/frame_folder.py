"""A folder of feature files whose videos are kept whole: how a file becomes a sequence of frames."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float16

from vtr_core.data.records.binary_columns import MAX_CELL_BYTES
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.features.folder import commonest
from vtr_core.data.sources.features.npy import read_feature
from vtr_core.data.sources.features.pooling import to_float16
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location


@dataclass(frozen=True)
class FrameFolder:
    """The files `<folder>/<video id>.npy`: (frames, …), the axes after the first flattened, or (dim,) for one frame.

    Frames are stored as they are, in float16 and *not* normalised: a model that wants unit length brings them there.
    """

    location: Location

    def read(self, video_id: str, dim: int | None = None) -> Float16[np.ndarray, "frames dim"]:
        """The frames of a video; UnusableError where the file cannot be read, or holds frames of other than `dim`."""
        check_id(video_id)
        file = self.location / f"{video_id}.npy"
        array = np.atleast_2d(read_feature(file, flatten=True))
        if dim is not None and array.shape[1] != dim:
            what = f"{file} has {array.shape[1]} values a frame; this data set has {dim}"
            raise UnusableError(Reason.WRONG_DIMENSION, what)
        if array.size * FEATURE_DTYPE.itemsize > MAX_CELL_BYTES:
            what = f"{file} has {len(array)} frames of {array.shape[1]} values; a row holds {MAX_CELL_BYTES >> 20} MiB"
            raise UnusableError(Reason.WRONG_DIMENSION, what)
        return to_float16(array, str(file))

    def dim(self, video_ids: Iterable[str]) -> int:
        """The commonest number of values of a frame among the first readable files, as `commonest`."""
        return commonest(self.location, video_ids, lambda video_id: self.read(video_id).shape[1])
