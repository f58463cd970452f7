"""Alarms of a run: collapse, values that are not finite, unreadable row groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vtr_core.analysis.effective_dimension import effective_rank, row_share, score_deviation
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan, RowGroup
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.records.arrays import mean_column
from vtr_core.data.records.schema import FeatureSpec, ImageSchema, VideoSchema
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.errors import DatasetError
from vtr_core.systems.implementation import Compared
from vtr_core.train.job import DriverChannel

ALIKE = 0.01
"""Threshold of collapse: the share of the vectors' energy that differs between rows, or the standard deviation of
similarities on the loss's own scale.
"""
FLAT = 1.5
"""Effective rank below which all differences lie about on one line."""
FEWEST_ROWS = 16
"""The fewest rows for which ranks and deviations are meaningful."""
GUESSING = 0.98
"""A loss above this fraction of the chance level counts as chance."""


@dataclass(frozen=True)
class Collapse:
    """A collapse of embeddings or similarities, and its likely cause."""

    what: str
    cause: str


class CollapseWatch:
    """Checks logged steps; reports once that vectors have collapsed, and once that the loss is at chance level.

    warm_steps: steps before the loss can be expected below chance.
    """

    def __init__(self, warm_steps: int) -> None:
        self._warm_steps = warm_steps
        self._was_apart = self._warned = self._learned = False
        self.collapse: Collapse | None = None
        """The collapse found by the last look, reported once."""
        self.at_chance: float | None = None
        """The chance that the loss of the last look was not below, after the warm-up; None before, or below it."""
        self.loss: float | None = None
        """The loss of the last look."""

    def look(self, step: int, loss: float, compared: Compared) -> dict[str, float]:
        """Metrics to log after `step` steps."""
        self.loss = loss
        judged = {name: vectors for name, vectors in compared.vectors.items() if len(vectors) >= FEWEST_ROWS}
        shares = {name: row_share(vectors) for name, vectors in judged.items()}
        ranks = {name: effective_rank(vectors) for name, vectors in judged.items()}
        deviations = {name: score_deviation(scores()) for name, scores in compared.scores.items()} if judged else {}
        collapse = None if self._warned else self._judge(shares, ranks, deviations)
        self.collapse, self._warned = collapse, self._warned or collapse is not None
        self._was_apart |= collapse is None
        return {
            **{f"train/row_share_{name}": value for name, value in shares.items()},
            **{f"train/effective_rank_{name}": value for name, value in ranks.items()},
            **{f"train/similarity_deviation_{name}": value for name, value in deviations.items()},
            **self._beside_chance(step, loss, compared),
        }

    def _judge(
        self, shares: Mapping[str, float], ranks: Mapping[str, float], deviations: Mapping[str, float]
    ) -> Collapse | None:
        signs = [
            *(f"{v:.2g} of the energy of {name} differs between rows" for name, v in shares.items() if v < ALIKE),
            *(f"all differences of {name} lie on a line" for name, v in ranks.items() if v < FLAT),
            *(f"similarities of {name} deviate by {v:.1g}" for name, v in deviations.items() if v < ALIKE),
        ]
        if not signs:
            return None
        learned = "it was better before: lower optimizer.learning_rate, or set optimizer.gradient_clip and warmup_steps"
        initial = "it was so from the start: look at vtr data show, and at settings other than the preset's"
        return Collapse(signs[0], learned if self._was_apart else initial)

    def _beside_chance(self, step: int, loss: float, compared: Compared) -> dict[str, float]:
        """The chance level, until the loss was below it once; computing it costs as much as a loss."""
        if self._learned:
            return {}
        chance = compared.chance()
        if chance is None:
            return {}
        self._learned = loss < GUESSING * chance
        self.at_chance = None if self._learned or step <= self._warm_steps else chance
        return {"train/chance": chance}


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
    clips_by_place: dict[str, list[str]] = {}
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
            clips_by_place.setdefault(_name(manifest, place), []).append(name)
            missing.discard(int(columns[key][row]))
    clips = [clip for names in clips_by_place.values() for clip in names]
    return Suspects(_first(list(clips_by_place) or [_name(manifest, place) for place in places]), _first(clips))


def _name(manifest: Manifest, place: RowGroup) -> str:
    return f"{manifest.shards[place.shard].file} (row group {place.index})"


def _first(names: Sequence[str]) -> tuple[str, ...]:
    more = len(names) - _MOST_NAMED
    return (*names[:_MOST_NAMED], f"{more} more") if more > 0 else tuple(names)


class BadShards:
    """The unreadable row groups that one worker has met."""

    def __init__(self, reader: RowGroupReader, plan: Plan, channel: DriverChannel) -> None:
        self._reader, self._plan, self._channel = reader, plan, channel
        self._named: set[int] = set()

    def look(self, columns: Columns) -> int:
        """The number of replaced rows in this worker's part of a batch; reports new bad row groups to the driver."""
        for group in columns["replaced"][:, 0].tolist():
            if group not in self._named:
                self._named.add(group)
                self._tell(group)
        return int(columns["replaced"][:, 1].sum())

    def _tell(self, group: int) -> None:
        place = self._plan.row_groups[group]
        shard = self._reader.manifest.shards[place.shard]
        try:
            self._reader.read(place)
            reason = "it could be read at the next try"
        except DamagedShard as error:
            reason = str(error)
        event = {"event": "bad_shard", "file": shard.file, "row_group": place.index, "sha256": shard.sha256}
        self._channel.report({**event, "reason": reason})
