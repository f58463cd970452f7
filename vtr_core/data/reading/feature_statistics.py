"""Mean and standard deviation of a data set's features, for models that standardise them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float16, Float32

from vtr_core.config.data_sets import OnBadShard
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.arrays import as_sequences
from vtr_core.data.records.schema import FEATURE_DTYPE, ClipSchema, FeatureSpec
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.errors import DatasetError

MAX_ROW_GROUPS = 16


@dataclass(frozen=True)
class FeatureStatistics:
    """Mean and standard deviation of each dimension of a feature; the deviation is 1 where a dimension is constant."""

    mean: Float32[np.ndarray, " dim"]
    std: Float32[np.ndarray, " dim"]


def feature_statistics(
    manifest: Manifest,
    max_row_groups: int = MAX_ROW_GROUPS,
    on_bad_shard: OnBadShard = "fail",
    names: Collection[str] | None = None,
) -> dict[str, FeatureStatistics]:
    """The statistics of each feature, over the rows that have it, of `max_row_groups` evenly spaced row groups.

    names: of these features; by default of all. For whole videos the statistics are over all frames, with equal weight,
    also those beyond max_frames. Rows or frames with non-finite values are left out, since a single one would turn all
    standardised values into NaN.

    A function of the data set alone, independent of the number of workers. Sums are float64, the deviation is the
    population's. Raises DatasetError where a feature is absent from all of these rows, DamagedShard for an unreadable
    row group, which "skip" leaves out.
    """
    features = [feature for feature in manifest.schema.features if names is None or feature.name in names]
    sums = {feature.name: _Sums(feature.dim) for feature in features}
    places = _evenly_spaced(manifest, max_row_groups)
    for place in places:
        try:
            vectors = _vectors(manifest, place, features)
        except DamagedShard:
            if on_bad_shard == "fail":
                raise
            continue
        for feature in features:
            sums[feature.name].add(vectors[feature.name])
    absent = [name for name, values in sums.items() if values.rows == 0]
    if absent:
        raise DatasetError(
            f"{manifest.uri}: no row of {len(places)} row groups has {', '.join(absent)}; "
            "set model.standardize to False"
        )
    return {name: values.statistics() for name, values in sums.items()}


def absent_features(manifest: Manifest, max_row_groups: int = MAX_ROW_GROUPS) -> set[str]:
    """The features that no clip has of the row groups that `feature_statistics` reads; of whole videos none is told.

    Reads a byte a clip and feature. Whoever reads the rows reports damage, which ends the search here.
    """
    if not isinstance(manifest.schema, ClipSchema):
        return set()
    left = {feature.presence: feature.name for feature in manifest.schema.features}
    for place in _evenly_spaced(manifest, max_row_groups):
        if not left:
            break
        try:
            presence = RowGroupReader(manifest, list(left)).read(place)
        except DamagedShard:
            return set()
        left = {column: name for column, name in left.items() if not presence[column].any()}
    return set(left.values())


def _vectors(
    manifest: Manifest, place: RowGroup, features: Sequence[FeatureSpec]
) -> dict[str, Float16[np.ndarray, "_ _"]]:
    """The vectors of each feature in a row group: of all clips that have it, or of all frames of all videos."""
    if isinstance(manifest.schema, ClipSchema):
        clips = RowGroupReader(manifest, [name for f in features for name in (f.name, f.presence)]).read(place)
        return {f.name: clips[f.name][clips[f.presence]] for f in features}
    videos = RowGroupReader(manifest, [f.name for f in features]).read_arrow(place)
    return {f.name: as_sequences(videos[f.name], f.dim, FEATURE_DTYPE).vectors for f in features}


def _evenly_spaced(manifest: Manifest, count: int) -> Sequence[RowGroup]:
    places = row_groups(manifest)
    chosen = np.linspace(0, len(places) - 1, min(count, len(places))).round().astype(int)
    return [places[index] for index in chosen]


class _Sums:
    """Sums of values and of squares over rows, shifted by the first row to avoid cancellation."""

    def __init__(self, dim: int) -> None:
        self.rows = 0
        self._origin = np.zeros(dim)
        self._total = np.zeros(dim)
        self._squares = np.zeros(dim)

    def add(self, values: Float16[np.ndarray, "rows dim"]) -> None:
        part = values[np.isfinite(values).all(axis=1)].astype(np.float64)
        if self.rows == 0 and len(part):
            self._origin = part[0]
        self.rows += len(part)
        self._total += (part - self._origin).sum(axis=0)
        self._squares += ((part - self._origin) ** 2).sum(axis=0)

    def statistics(self) -> FeatureStatistics:
        shift = self._total / self.rows
        std = np.sqrt(np.maximum(self._squares / self.rows - shift**2, 0))
        std[std == 0] = 1
        return FeatureStatistics((self._origin + shift).astype(np.float32), std.astype(np.float32))
