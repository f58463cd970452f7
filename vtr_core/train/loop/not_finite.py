"""Search for the clips behind non-finite values in a batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.records.frames import mean_column
from vtr_core.data.records.schema import FeatureSpec, ImageSchema, VideoSchema
from vtr_core.errors import DatasetError

_MOST_NAMED = 5


@dataclass(frozen=True)
class Suspects:
    """The shards and clips of a skipped batch."""

    places: tuple[str, ...]
    """Shard files with their row groups: of `clips` where there are any, else of the batch, the first few of them."""
    clips: tuple[str, ...]
    """Clips, or whole videos, with features that are not finite, the first few of them."""

    def __str__(self) -> str:
        """The form in messages."""
        clips = f"features that are not finite in {', '.join(self.clips)}, in " if self.clips else "rows of "
        return clips + ", ".join(self.places)


def keys_not_finite(columns: Columns, features: Sequence[FeatureSpec]) -> set[int]:
    """The `clip_key` of every row with a feature that has a NaN or infinite value in any frame.

    Of whole videos that are read without means: in any frame of the batch.
    """
    bad = np.zeros(len(columns["clip_key"]), bool)
    for feature in features:
        if feature.presence in columns:
            bad |= columns[feature.presence] & ~np.isfinite(columns[feature.name]).all(axis=1)
        elif mean_column(feature.name) in columns:  # a whole video's mean is not finite if any frame is not
            bad |= ~np.isfinite(columns[mean_column(feature.name)]).all(axis=1)
        elif feature.name in columns:
            bad |= ~np.isfinite(columns[feature.name]).all(axis=(1, 2))
    return set(columns["clip_key"][bad].tolist())


def suspects(manifest: Manifest, places: Sequence[RowGroup], keys: set[int]) -> Suspects:
    """Name the clips, or whole videos, with `keys` among the row groups of a batch, by reading the ids in those."""
    if isinstance(manifest.schema, ImageSchema):  # images have integer pixels, which are always finite
        return Suspects(_first([_name(manifest, place) for place in places]), ())
    found: dict[str, list[str]] = {}
    missing = set(keys)
    whole = isinstance(manifest.schema, VideoSchema)
    key = "video_key" if whole else "clip_key"
    reader = RowGroupReader(manifest, [key, "video_id"] if whole else [key, "clip_id", "video_id"])
    for place in places:
        if not missing:
            break
        try:
            columns = reader.read(place)
        except DatasetError:  # a damaged row group; its rows were replaced, so it had none of these clips
            continue
        for row in np.flatnonzero(np.isin(columns[key], list(missing))).tolist():
            video = f"video {columns['video_id'][row]}"
            name = video if whole else f"clip {columns['clip_id'][row]} of {video}"
            found.setdefault(_name(manifest, place), []).append(name)
            missing.discard(int(columns[key][row]))
    clips = [clip for names in found.values() for clip in names]
    return Suspects(_first(list(found) or [_name(manifest, place) for place in places]), _first(clips))


def _name(manifest: Manifest, place: RowGroup) -> str:
    return f"{manifest.shards[place.shard].file} (row group {place.index})"


def _first(names: Sequence[str]) -> tuple[str, ...]:
    more = len(names) - _MOST_NAMED
    return (*names[:_MOST_NAMED], f"{more} more") if more > 0 else tuple(names)
