"""Videos of a `steps` data set as arrays, one at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float16

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.binary_columns import as_sequences
from vtr_core.data.records.schema import FEATURE_DTYPE, FeatureSpec
from vtr_core.data.records.timed_label import TimedLabel


@dataclass(frozen=True)
class StoredSteps:
    """A stored video with all requested features; absent features have no rows."""

    video_id: str
    task: str
    steps: tuple[str, ...]
    labels: tuple[str, ...]
    segments: tuple[TimedLabel, ...]
    features: Mapping[str, Float16[np.ndarray, "_ _"]]


def read_steps(
    manifest: Manifest, features: Sequence[FeatureSpec], places: Sequence[RowGroup] | None = None
) -> Iterator[StoredSteps]:
    """The videos in `places` (default: all), in file order, with `features`; one row group in memory at a time."""
    text = ["video_id", "task", "steps", "labels", "segments"]
    reader = RowGroupReader(manifest, [*text, *(feature.name for feature in features)])
    for place in row_groups(manifest) if places is None else places:
        columns = reader.read_arrow(place)
        frames = {feature.name: _cells(columns[feature.name], feature.dim) for feature in features}
        rows = zip(*(columns[name].to_pylist() for name in text), strict=True)
        for row, (video_id, task, steps, labels, segments) in enumerate(rows):
            timed = tuple(TimedLabel(**segment) for segment in segments)
            own = {name: cells[row] for name, cells in frames.items()}
            yield StoredSteps(video_id, task, tuple(steps), tuple(labels), timed, own)


def _cells(column: object, dim: int) -> list[np.ndarray]:
    found = as_sequences(column, dim, FEATURE_DTYPE)
    return np.split(found.vectors, np.cumsum(found.counts)[:-1])
