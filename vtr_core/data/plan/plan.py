"""Which rows each batch holds, as a function of (manifest, batch configuration, seed, epoch) alone.

An epoch visits every video once, except those left over after the last full batch. Row groups are permuted over the
whole epoch; their videos, in that order, are cut into windows of a few batches and shuffled within a window, so a
window touches few row groups and windows touch nearly disjoint ones. Of each video the plan samples `clips_per_video`
rows; where a row is a whole video, as many of its captions. The position in this endless sequence is the global step,
so a run continues at any step, on any number of workers, with the batches it would have seen.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Int64

from vtr_core.config.batch import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import FrameSchema, ImageSchema, Schema, VideoSchema
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import key64

_POSITIVE = 2**63 - 1


@dataclass(frozen=True)
class Part:
    """The share of each batch that worker `rank` of `world` reads."""

    rank: int
    world: int


@dataclass(frozen=True)
class CaptionDraws:
    """The random caption of each row of whole videos, drawn without the number of captions, which only shards have.

    The rows of a video share `seed`; the row of turn k gets caption number k of the video's captions in the random
    order of this seed, and begins again where there are no more: without replacement as long as there are enough.
    every: turns go on over all epochs, and each time that a video's captions are through they have another order.
    """

    seed: Int64[np.ndarray, " rows"]
    turn: Int64[np.ndarray, " rows"]
    every: bool = False

    def __getitem__(self, rows: slice) -> "CaptionDraws":
        """The draws of some of the rows."""
        return CaptionDraws(self.seed[rows], self.turn[rows], self.every)

    def caption(self, row: int, captions: int) -> int:
        """The caption of a row whose video has `captions` of them, at least one."""
        cycle, place = divmod(int(self.turn[row]), captions)
        seed = [int(self.seed[row]), cycle] if self.every else int(self.seed[row])
        return int(np.random.default_rng(seed).permutation(captions)[place])


@dataclass(frozen=True)
class BatchPlan:
    """The rows of one global batch, in the order of the files, so that a contiguous part touches few row groups."""

    step: int
    group: Int64[np.ndarray, " rows"]
    """Row group of each row, numbered over the whole data set."""
    row: Int64[np.ndarray, " rows"]
    """Position of each row in its row group."""
    whole: tuple[int, ...] = ()
    """The row groups of the whole batch, in order, of which this may be a part."""
    draws: CaptionDraws | None = None
    """Caption draws of whole videos."""

    @property
    def groups(self) -> list[int]:
        """The row groups that hold the batch's rows, in order."""
        return np.unique(self.group).tolist()

    def part(self, rank: int, world: int) -> "BatchPlan":
        """The contiguous part of worker `rank` of `world`; the parts of all workers are the batch."""
        first, last = rank * len(self.row) // world, (rank + 1) * len(self.row) // world
        draws = None if self.draws is None else self.draws[first:last]
        return BatchPlan(self.step, self.group[first:last], self.row[first:last], self.whole, draws)


@dataclass(frozen=True)
class BatchVideos:
    """The videos of one global batch, in the order of the files: all that its plan depends on but the configuration."""

    step: int
    group: Int64[np.ndarray, " videos"]
    """Row group of each video, numbered over the whole data set."""
    first_row: Int64[np.ndarray, " videos"]
    """Position of each video's first row in its row group."""
    rows: Int64[np.ndarray, " videos"]
    """Rows of each video."""

    @property
    def groups(self) -> list[int]:
        """The row groups that hold the videos, in order."""
        return np.unique(self.group).tolist()

    def sample(self, schema: Schema, clips_per_video: int, seed: int, every_caption_of: int | None = None) -> BatchPlan:
        """`clips_per_video` rows of each video, or, where rows are whole videos, captions of each; of clips
        with several captions both.

        They are drawn without replacement where there are enough, with it otherwise; with `every_caption_of`, the
        steps of an epoch, a video's captions come in turn over the epochs, each as often as any other.
        """
        if isinstance(schema, VideoSchema):
            if every_caption_of is not None:
                return self._captions_in_turn(clips_per_video, seed, self.step // every_caption_of)
            return self._captions(clips_per_video, seed)
        clips = self._clips(clips_per_video, seed)
        if isinstance(schema, FrameSchema):
            return replace(clips, draws=self._draws(clips_per_video, seed))
        return clips

    def _clips(self, clips_per_video: int, seed: int) -> BatchPlan:
        generator = np.random.default_rng([seed, self.step])
        clips = [_sample(count, clips_per_video, generator) for count in self.rows.tolist()]
        row = np.concatenate([first + clip for first, clip in zip(self.first_row, clips, strict=True)])
        return BatchPlan(self.step, np.repeat(self.group, clips_per_video), row, tuple(self.groups))

    def _captions(self, captions_per_video: int, seed: int) -> BatchPlan:
        group, row = (np.repeat(values, captions_per_video) for values in (self.group, self.first_row))
        return BatchPlan(self.step, group, row, tuple(self.groups), self._draws(captions_per_video, seed))

    def _draws(self, captions_per_video: int, seed: int) -> CaptionDraws:
        seeds = np.random.default_rng([seed, self.step]).integers(2**63, size=len(self.group))
        turns = np.tile(np.arange(captions_per_video), len(self.group))
        return CaptionDraws(np.repeat(seeds, captions_per_video), turns)

    def _captions_in_turn(self, captions_per_video: int, seed: int, epoch: int) -> BatchPlan:
        seeds = np.array(
            [key64(f"{seed} {group} {row}") & _POSITIVE for group, row in zip(self.group, self.first_row, strict=True)]
        )
        turns = np.tile(epoch * captions_per_video + np.arange(captions_per_video), len(self.group))
        group, row = (np.repeat(values, captions_per_video) for values in (self.group, self.first_row))
        draws = CaptionDraws(np.repeat(seeds, captions_per_video), turns, every=True)
        return BatchPlan(self.step, group, row, tuple(self.groups), draws)


def _sample(rows: int, wanted: int, generator: np.random.Generator) -> np.ndarray:
    found = generator.choice(rows, wanted, replace=False) if rows >= wanted else generator.integers(rows, size=wanted)
    return np.sort(found)


def _shuffled(
    videos: Int64[np.ndarray, " videos"], batch: int, generator: np.random.Generator
) -> Int64[np.ndarray, " videos"]:
    """A window's videos in a random order. Those that stand in it twice, to fill its last batch, are never twice in a
    batch: once they are at the end, and the rest of that batch are others."""
    once, counts = np.unique(videos, return_counts=True)
    if (counts == 1).all():
        return generator.permutation(videos)
    filling, others = once[counts > 1], generator.permutation(once[counts == 1])
    own = batch - len(filling)
    return np.concatenate([generator.permutation(np.concatenate([filling, others[own:]])), others[:own], filling])


@dataclass(frozen=True)
class RowGroup:
    """The position of a row group: the shard's index in the manifest and the group's index in its file."""

    shard: int
    index: int


def row_groups(manifest: Manifest) -> list[RowGroup]:
    """All row groups of a data set, in file order; the position in this list is a group's number."""
    return [RowGroup(s, g) for s, shard in enumerate(manifest.shards) for g in range(len(shard.row_groups))]


def _called(schema: Schema) -> str:
    """The unit of sampling: videos, or subjects of images."""
    return "subjects" if isinstance(schema, ImageSchema) else "videos"


class Plan:
    """The batches of every step of a run over one data set."""

    def __init__(self, manifest: Manifest, batch: BatchConfig, seed: int) -> None:
        if manifest.videos < batch.videos:
            raise DatasetError(
                f"{manifest.uri} holds {manifest.videos} {_called(manifest.schema)}, fewer than a batch needs; "
                f"use --batch.videos {max(1, manifest.videos)} or less"
            )
        if isinstance(manifest.schema, VideoSchema) and batch.candidates > 1:
            raise DatasetError(
                f"{manifest.uri} is {manifest.schema.label()}, whose captions have no times, so there are no bags of "
                f"those nearest in time; leave out --batch.candidates {batch.candidates}, or train on clips"
            )
        if isinstance(manifest.schema, FrameSchema) and batch.candidates > 1:
            raise DatasetError(
                f"{manifest.uri} is {manifest.schema.label()}, of which no bags of captions are made; leave out "
                f"--batch.candidates {batch.candidates}"
            )
        if isinstance(manifest.schema, ImageSchema) and batch.candidates > 1:
            raise DatasetError(
                f"{manifest.uri} is {manifest.schema.label()}, which has no captions; leave out --batch.candidates"
            )
        self._batch = batch
        self._schema = manifest.schema
        self.seed = seed
        self.row_groups = tuple(row_groups(manifest))
        self.clips_per_video, self.batches_per_window = batch.clips_per_video, batch.window
        self.extra_captions, self.max_frames = batch.candidates - 1, batch.max_frames
        groups = [counts for shard in manifest.shards for counts in shard.row_groups]
        self._counts = np.fromiter((n for counts in groups for n in counts), np.int64)
        self._videos_in_group = np.array([len(counts) for counts in groups], np.int64)
        self._first_video = np.cumsum(self._videos_in_group) - self._videos_in_group
        self._group_of_video = np.repeat(np.arange(len(groups)), self._videos_in_group)
        before = np.cumsum(self._counts) - self._counts
        self._first_row = before - before[self._first_video][self._group_of_video]
        filled = batch.remainder == "filled"
        self.steps_per_epoch = -(-manifest.videos // batch.videos) if filled else manifest.videos // batch.videos
        self.every_caption_of = self.steps_per_epoch if batch.captions == "every" else None
        self.windows_per_epoch = -(-self.steps_per_epoch // batch.window)

    def window_of(self, step: int) -> int:
        """The number of the window, counted over all epochs, that holds `step`."""
        epoch, position = divmod(step, self.steps_per_epoch)
        return epoch * self.windows_per_epoch + position // self._batch.window

    def window(self, number: int) -> list[BatchPlan]:
        """The batches of window `number`, in order of their steps."""
        how = self._schema, self.clips_per_video, self.seed, self.every_caption_of
        return [batch.sample(*how) for batch in self.videos(number)]

    def videos(self, number: int) -> list[BatchVideos]:
        """The videos of each batch of window `number`."""
        epoch, index = divmod(number, self.windows_per_epoch)
        first = index * self._batch.window
        last = min(first + self._batch.window, self.steps_per_epoch)
        generator = np.random.default_rng([self.seed, epoch, index])
        videos = self._epoch_order(epoch)[first * self._batch.videos : last * self._batch.videos]
        parts = [np.sort(part) for part in np.split(_shuffled(videos, self._batch.videos, generator), last - first)]
        step = epoch * self.steps_per_epoch + first
        return [
            BatchVideos(step + i, self._group_of_video[part], self._first_row[part], self._counts[part])
            for i, part in enumerate(parts)
        ]

    def places(self, step: int) -> list[RowGroup]:
        """The row groups that hold the batch of `step`: named in messages about it."""
        batch = next(batch for batch in self.window(self.window_of(step)) if batch.step == step)
        return [self.row_groups[group] for group in batch.groups]

    @lru_cache(maxsize=2)  # noqa: B019  (a plan lives as long as its process)
    def _epoch_order(self, epoch: int) -> Int64[np.ndarray, " videos"]:
        """All videos in the order of the epoch's permuted row groups, in each cyclically from a random one on.

        What makes no full batch is left over at the end, so that without the circle a small data set would lose the
        same videos in every epoch; or the epoch's first videos fill the last batch.
        """
        generator = np.random.default_rng([self.seed, epoch])
        groups = generator.permutation(len(self.row_groups))
        sizes = self._videos_in_group[groups]
        start = np.cumsum(sizes) - sizes - generator.integers(sizes)
        offsets = (np.arange(sizes.sum()) - np.repeat(start, sizes)) % np.repeat(sizes, sizes)
        order = np.repeat(self._first_video[groups], sizes) + offsets
        return np.resize(order, max(len(order), self.steps_per_epoch * self._batch.videos))
