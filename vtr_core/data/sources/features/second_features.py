"""Features at one row per second: from one folder, or two concatenated visual streams, optionally with audio."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Float16, Num
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from vtr_core.config.override import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import (
    PUBLISHED,
    Kind,
    Lasting,
    check_durations,
    check_rates,
    read_feature,
    rows_per_second,
    to_float16,
)
from vtr_core.data.sources.features.feature_folder import commonest
from vtr_core.data.sources.files import check_id
from vtr_core.data.sources.source import KEPT, Drops
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

_How = Literal["as_is", "unit", "mean"]
ColumnRange = tuple[NonNegativeInt, PositiveInt]
"""First column and the one after the last."""


class SecondFeatures(SourceSettings):
    """Per-second features of videos, from files <video id>.npy of (time, dim).

    `video` is the one array as it is, or L2(2D) ⊕ L2(3D) row by row, as long as the shorter of the two. A video whose
    visual file is missing or damaged has no frames, but stays: what is to be found in it counts as missed, so that the
    figures of all models are over the same videos. Such videos are counted under KEPT and named, and are an error under
    `strict`; so are damaged audio files. Missing audio is none.
    """

    video_features: str | None = None
    """Folder of the model's video feature, already in one array and normalised as in training."""
    features_2d: str | None = None
    """Folder of the 2D stream, if the streams are to be normalised and joined here."""
    features_3d: str | None = None
    """Folder of the 3D stream."""
    audio: str | None = None
    """Folder of audio features, which are not normalised."""
    columns_2d: ColumnRange | None = None
    """Columns of the files that are the 2D stream, where a file holds more: for instance 1024 3072."""
    columns_3d: ColumnRange | None = None
    """Columns of the 3D stream, for instance 0 1024."""
    columns_audio: ColumnRange | None = None
    """Columns of the audio stream."""
    fps: PositiveFloat | None = None
    """Rows per second of --video-features or the 2D stream (default: as vtr extract recorded, else 1); the rows of a
    second are pooled by maximum."""
    fps_3d: PositiveFloat | None = None
    """Rows a second of the 3D stream (default: as vtr extract recorded; that of the 2D stream where both are columns
    of the same files; else 1.5)."""
    fps_audio: PositiveFloat | None = None
    """Rows per second of the audio stream (default: as vtr extract recorded, else 1); the rows of a second are pooled
    by mean."""

    @model_validator(mode="after")
    def _check_streams(self) -> "SecondFeatures":
        if (self.video_features is None) == (self.features_2d is None):
            raise ValueError("give --video-features, or --features-2d and perhaps --features-3d")
        if self.video_features is not None and self.features_3d is not None:
            raise ValueError("--features-3d goes with --features-2d; --video-features holds both streams already")
        for uri, columns, name in (
            (self.features_2d, self.columns_2d, "2d"),
            (self.features_3d, self.columns_3d, "3d"),
            (self.audio, self.columns_audio, "audio"),
        ):
            if columns is not None and uri is None:
                raise ValueError(f"--columns-{name} says which columns of a folder's files, but no folder is given")
            if columns is not None and columns[0] >= columns[1]:
                raise ValueError(f"--columns-{name} needs a first column before the end, not {columns}")
        return self

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, with the rates that are used."""
        rates = {stream.setting: stream.fps for part in self._streams.values() for stream in part}
        return {**super().settings(), "fps": 1.0, "fps_3d": PUBLISHED["3d"], "fps_audio": PUBLISHED["audio"], **rates}

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; dimensions from the first readable files."""
        return self._specs

    @cached_property
    def _specs(self) -> tuple[FeatureSpec, ...]:
        check_rates(self._feature_ids, self._check)
        dims = {name: sum(s.dim(self._feature_ids) for s in streams) for name, streams in self._streams.items()}
        return tuple(FeatureSpec(name, dim) for name, dim in dims.items())

    @property
    def _feature_ids(self) -> Sequence[str]:
        """The videos, as feature files call them."""
        raise NotImplementedError

    def frames(self, video_id: str, drops: Drops) -> dict[str, Float16[np.ndarray, "_ _"]]:
        """The features that the video has, by name; files that are missing or damaged are counted."""
        features: dict[str, Float16[np.ndarray, "_ _"]] = {}
        lasting: list[Lasting] = []
        for spec in self._specs:
            try:
                parts, rows = zip(*(stream.read(video_id) for stream in self._streams[spec.name]), strict=True)
                together = [*lasting, *rows]
                check_durations(video_id, together)
                features[spec.name] = self._joined(spec, video_id, parts)
                lasting = together
            except UnusableError as fault:
                if spec.name == "video":
                    drops.drop(KEPT, f"{fault} ({fault.reason})")
                elif fault.reason is not Reason.MISSING_FILE:
                    drops.drop(fault.reason, f"{fault}; {video_id} stays, without {spec.name}")
        return features

    def _check(self, video_id: str) -> None:
        """Read all streams of a video, and compare their durations."""
        check_durations(video_id, [s.read(video_id)[1] for streams in self._streams.values() for s in streams])

    def _joined(
        self, spec: FeatureSpec, video_id: str, parts: Sequence[Float[np.ndarray, "_ _"]]
    ) -> Float16[np.ndarray, "seconds dim"]:
        seconds = min(map(len, parts))
        files = " and ".join(str(stream.file(video_id)) for stream in self._streams[spec.name])
        joined = np.concatenate([to_float16(part[:seconds], files) for part in parts], axis=1)
        if joined.shape[1] != spec.dim:
            message = f"{joined.shape[1]} values of {spec.name} a second; this data set has {spec.dim}"
            raise UnusableError(Reason.WRONG_DIMENSION, f"{files} has {message}")
        return joined

    @cached_property
    def _streams(self) -> dict[str, list["_Stream"]]:
        fps_3d = self.fps_3d
        if fps_3d is None and self.features_3d is not None and self.features_3d == self.features_2d:
            fps_3d = self.fps or PUBLISHED["2d"]  # columns of the same files have the rate of the 2D stream
        folders: tuple[tuple[str | None, ColumnRange | None, _How, Kind, float | None, str], ...] = (
            (self.video_features, None, "as_is", "2d", self.fps, "--fps"),
            (self.features_2d, self.columns_2d, "unit", "2d", self.fps, "--fps"),
            (self.features_3d, self.columns_3d, "unit", "3d", fps_3d, "--fps-3d"),
            (self.audio, self.columns_audio, "mean", "audio", self.fps_audio, "--fps-audio"),
        )
        streams: dict[str, list[_Stream]] = {"video": []}
        for uri, columns, how, kind, fps, flag in folders:
            if uri is not None:
                stream = _Stream(locate(uri), columns, rows_per_second(uri, fps, kind, flag), flag, how)
                streams.setdefault("audio" if kind == "audio" else "video", []).append(stream)
        return streams


@dataclass(frozen=True)
class _Stream:
    """A stream of one folder: columns of its files, rows per second, and pooling of the rows of a second.

    how: "as_is" is the maximum, "unit" the maximum normalised to length 1, "mean" the mean.
    """

    location: Location
    columns: tuple[int, int] | None
    fps: float
    flag: str
    """The flag of `fps`, for messages."""
    how: _How

    @property
    def setting(self) -> str:
        """The name of the setting of `fps`."""
        return self.flag.removeprefix("--").replace("-", "_")

    def dim(self, video_ids: Iterable[str]) -> int:
        return commonest(self.location, video_ids, lambda video_id: self.read(video_id)[0].shape[1])

    def file(self, video_id: str) -> Location:
        check_id(video_id)
        return self.location / f"{video_id}.npy"

    def read(self, video_id: str) -> tuple[Float[np.ndarray, "seconds dim"], Lasting]:
        """The seconds of a video, and how long its rows last."""
        file = self.file(video_id)
        rows = read_feature(file)
        if rows.ndim != 2:
            message = (
                f"{file} has shape {rows.shape}; localisation needs (time, dim), not one vector for the whole video"
            )
            raise UnusableError(Reason.WRONG_RANK, message)
        seconds = per_second(self._chosen(rows, file), self.fps, mean=self.how == "mean")
        if self.how == "unit":
            norms = np.linalg.norm(seconds, axis=1, keepdims=True)
            seconds = seconds / np.where(norms > 0, norms, 1)
        return seconds, (self.flag, len(rows), self.fps)

    def _chosen(self, rows: Num[np.ndarray, "time dim"], file: Location) -> Num[np.ndarray, "time part"]:
        if self.columns is None:
            return rows
        first, end = self.columns
        if end > rows.shape[1]:
            message = f"{file} has {rows.shape[1]} columns; --columns-2d, -3d or -audio names {first} to {end}"
            raise UnusableError(Reason.WRONG_DIMENSION, message)
        return rows[:, first:end]


def per_second(rows: Num[np.ndarray, "time dim"], fps: float, mean: bool = False) -> Float[np.ndarray, "seconds dim"]:
    """The maximum (or mean) of the rows of each second, in float64; second t has the rows from ⌊t·fps⌋ to ⌊(t+1)·fps⌋.

    A remainder of less than a second is left out unless it is the whole video. Below one row per second, rows repeat.
    """
    values = rows.astype(np.float64)
    if fps == 1:
        return values
    seconds = max(1, int(len(values) / fps))
    first = np.minimum((np.arange(seconds) * fps).astype(int), len(values) - 1)
    end = np.maximum((np.arange(1, seconds + 1) * fps).astype(int), first + 1)
    parts = [values[a:b] for a, b in zip(first, end, strict=True)]
    return np.stack([part.mean(axis=0) if mean else part.max(axis=0) for part in parts])
