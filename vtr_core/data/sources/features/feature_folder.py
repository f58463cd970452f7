"""Features of a data set's videos: folders with a file per video."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Float16

from vtr_core import storage
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import (
    FeatureArray,
    Lasting,
    Pool,
    check_durations,
    check_rates,
    l2,
    pool,
    pooled_dim,
    read_feature,
    to_cell,
    to_float16,
    window,
)
from vtr_core.data.sources.files import check_id, check_path, is_elsewhere
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

T = TypeVar("T", bound=Hashable)
Features = dict[str, Float16[np.ndarray, " dim"]]
"""The vectors of a clip, by feature."""

PROBES = 5
"""Number of readable files whose most frequent dimension is the folder's, so that a single odd file is ignored."""
FAULTS, MOST_FAULTS = 100, 100_000
"""Numbers of names without a readable file, before the first one, after which it is asked whether the folder is there,
and after which none is expected; a request each on object stores. A list of a million videos may have few files."""


@dataclass(frozen=True)
class FeatureFolder:
    """The files `<folder>/<video id>.npy`, or with `by_path`, files by their paths below the folder.

    Rows come `fps` a second, are pooled as `how` says, and brought to length 1 where `normalise` is set. By path,
    arrays of more than two axes are allowed and read as (time, product of the others).
    """

    location: Location
    how: Pool
    fps: float = 1.0
    normalise: bool = True
    by_path: bool = False
    anywhere: bool = False
    """Whether absolute paths and URIs are allowed (with `by_path`)."""
    flag: str | None = None
    """The flag of `fps`, for messages; None where every file holds just its clip, whatever its rate."""

    def file(self, name: str) -> Location:
        """The file of a video id (or path), there or not; UnusableError where the name leads out of the folder."""
        if self.anywhere and is_elsewhere(name):
            return locate(name)
        if self.by_path:
            check_path(name)
            file = self.location / name
            return replace(file, root=None) if self.anywhere else file
        check_id(name)
        return self.location / f"{name}.npy"

    def read(self, name: str, dim: int | None = None) -> FeatureArray:
        """The array of a video id (or path); UnusableError where it cannot be read or would not give `dim` values."""
        file = self.file(name)
        array = read_feature(file, flatten=self.by_path)
        length = pooled_dim(array, self.how)
        if dim is not None and length != dim:
            message = f"{file} has shape {array.shape}, which gives {length} values ({self.how} pooling)"
            raise UnusableError(Reason.WRONG_DIMENSION, f"{message}; this data set has {dim}")
        return array

    def clip(self, name: str, array: FeatureArray, start: float, end: float | None) -> Float[np.ndarray, " dim"]:
        """The vector of the span from `start` to `end` in seconds of the `array` that `read(name)` gave.

        All rows where `end` is None. Raises UnusableError, naming the file, where the span lies after the last row.
        """
        rows = array if end is None or array.ndim == 1 else window(array, start, end, self.fps, str(self.file(name)))
        vector = pool(rows, self.how)
        return l2(vector) if self.normalise else vector

    def duration(self, array: FeatureArray) -> float:
        """Seconds covered by the rows; 0 for a single vector, whose duration is unknown."""
        return len(array) / self.fps if array.ndim > 1 else 0.0

    def lasting(self, array: FeatureArray) -> list[Lasting]:
        """How long the rows last, see `feature_rates`; nothing of a single vector, or where no rate is known."""
        return [] if self.flag is None or array.ndim == 1 else [(self.flag, len(array), self.fps)]

    def dim(self, names: Iterable[str]) -> int:
        """The commonest length of a pooled vector among the first readable files of `names`, as `commonest`."""
        return commonest(self.location, names, lambda name: pooled_dim(self.read(name), self.how))


@dataclass(frozen=True)
class ClipStreams:
    """The streams of a clip's features: video = L2(pooled 2D) ⊕ L2(pooled 3D), audio = the mean of its rows.

    `names` gives the videos, of whose first readable files dimensions are those of the data set. Audio may be missing.
    """

    visual: tuple[FeatureFolder, ...]
    audio: FeatureFolder | None
    names: Callable[[], Iterable[str]]

    @cached_property
    def dims(self) -> tuple[list[int], int | None]:
        """Values of every visual stream, and of audio; InputError where the first videos contradict the rates."""
        check_rates(self.names(), self._check)
        audio = None if self.audio is None else self.audio.dim(self.names())
        return [folder.dim(self.names()) for folder in self.visual], audio

    def specs(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`."""
        visual, audio = self.dims
        video = FeatureSpec("video", sum(visual))
        return (video,) if audio is None else (video, FeatureSpec("audio", audio))

    def read(self, name: str) -> "ClipArrays":
        """The arrays of a video; UnusableError where one is unusable, or a visual one missing."""
        dims, audio_dim = self.dims
        visual = [folder.read(name, dim) for folder, dim in zip(self.visual, dims, strict=True)]
        audio = None
        if self.audio is not None:
            try:
                audio = self.audio.read(name, audio_dim)
            except UnusableError as fault:
                if fault.reason is not Reason.MISSING_FILE:
                    raise
        arrays = ClipArrays(self, name, visual, audio)
        check_durations(str(self.visual[0].file(name)), arrays.lasting)
        return arrays

    def _check(self, name: str) -> None:
        """Read all streams of a video, whatever their dimensions, and compare their durations."""
        visual = [folder.read(name) for folder in self.visual]
        audio = None if self.audio is None else self.audio.read(name)
        check_durations(str(self.visual[0].file(name)), ClipArrays(self, name, visual, audio).lasting)


@dataclass(frozen=True)
class ClipArrays:
    """What the streams have of a video."""

    streams: ClipStreams
    name: str
    visual: list[FeatureArray]
    audio: FeatureArray | None

    def features(self, start: float, end: float | None, where: str) -> Features:
        """The vectors of a span, `where` for messages; all rows where `end` is None. Audio may end before it.

        UnusableError where the span lies after the last visual row.
        """
        folders = self.streams.visual
        parts = [folder.clip(self.name, rows, start, end) for folder, rows in zip(folders, self.visual, strict=True)]
        features = {"video": np.concatenate([to_float16(part, where) for part in parts])}
        if self.streams.audio is not None and self.audio is not None:
            try:
                sound = self.streams.audio.clip(self.name, self.audio, start, end)
                features["audio"] = to_float16(sound, str(self.streams.audio.file(self.name)))
            except UnusableError as fault:
                if fault.reason is not Reason.OUTSIDE_FEATURES:
                    raise
        return features

    @property
    def lasting(self) -> list[Lasting]:
        """How long each stream's rows last."""
        streams = list(zip(self.streams.visual, self.visual, strict=True))
        if self.streams.audio is not None and self.audio is not None:
            streams.append((self.streams.audio, self.audio))
        return list(chain.from_iterable(folder.lasting(rows) for folder, rows in streams))

    @property
    def duration(self) -> float:
        """Seconds of the longest visual stream; 0 where none is known."""
        return max(folder.duration(rows) for folder, rows in zip(self.streams.visual, self.visual, strict=True))


def commonest(folder: Location, names: Iterable[str], probe: Callable[[str], T]) -> T:
    """The commonest `probe(name)` among the first PROBES files of `names` in `folder` that can be read.

    Raises InputError, with the first fault, where none can, or none of the first MOST_FAULTS.
    """
    faults: list[str] = []
    counts = Counter(islice(_readable(folder, names, probe, faults), PROBES))
    if not counts:
        reason = faults[0] if faults else "none is named"
        raise InputError(f"no feature file in {folder} can be used ({reason}); give the folder of the files")
    return counts.most_common(1)[0][0]


def _readable(folder: Location, names: Iterable[str], probe: Callable[[str], T], faults: list[str]) -> Iterator[T]:
    has_any = False
    for name in names:
        try:
            yield probe(name)
            has_any = True
        except UnusableError as fault:
            faults.append(str(fault))
            if not has_any and (len(faults) >= MOST_FAULTS or (len(faults) == FAULTS and not storage.exists(folder))):
                return


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
            message = f"{file} has {array.shape[1]} values a frame; this data set has {dim}"
            raise UnusableError(Reason.WRONG_DIMENSION, message)
        return to_cell(array, str(file))

    def dim(self, video_ids: Iterable[str]) -> int:
        """The commonest number of values of a frame among the first readable files, as `commonest`."""
        return commonest(self.location, video_ids, lambda video_id: self.read(video_id).shape[1])
