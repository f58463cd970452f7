"""Shards with one row per video: row groups of whole videos, and cells with all frames of a feature."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float16

from vtr_core.data.records.binary_columns import sequence_binary
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.writing import GroupSize, GroupTable, row_groups


@runtime_checkable
class Framed(Protocol):
    """A video with its features by name, each (frames, dim)."""

    @property
    def features(self) -> Mapping[str, Float16[np.ndarray, "_ _"]]:
        """The features that the video has."""
        ...


V = TypeVar("V", bound=Framed)


def video_row_groups(videos: Iterable[V | None], table: Callable[[Sequence[V]], pa.Table]) -> Iterator[GroupTable]:
    """The row groups of `videos`, one row each, built by `table`; None stands for an unusable video."""
    usable = (video for video in videos if video is not None)
    for group in row_groups(usable, _size):
        yield GroupTable(table(group), (1,) * len(group))


def frame_columns(features: Sequence[FeatureSpec], videos: Sequence[Framed]) -> dict[str, pa.Array | Sequence[object]]:
    """The columns of every feature: cells of (frames, dim), and the number of frames, 0 where a video lacks it."""
    columns: dict[str, pa.Array | Sequence[object]] = {}
    for feature in features:
        frames = [video.features.get(feature.name) for video in videos]
        columns[feature.name] = sequence_binary(frames)
        columns[feature.count] = [0 if cell is None else len(cell) for cell in frames]
    return columns


def _size(video: Framed) -> GroupSize:
    return GroupSize(1, sum(frames.nbytes for frames in video.features.values()))
