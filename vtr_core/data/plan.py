"""What each batch holds: a function of manifest, seed, epoch and step; splits of a data set."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Int64

from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import FrameSchema, ImageSchema, Schema, VideoSchema
from vtr_core.data.shards.shard_file import ShardFile
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import key64

_TOLERANCE = 1e-6


def assign_splits(videos: Iterable[str], fractions: Mapping[str, float], seed: int = 0) -> dict[str, str]:
    """The split of each video id: a hash of (seed, id), uniform in [0, 1), falls into one of the fractions' intervals.

    A video keeps its split when others are added or removed, so the sizes are `fractions` in expectation only.
    Raises ConfigError unless the fractions are in [0, 1] and sum to 1.
    """
    shown = ", ".join(f"{name} {value:g}" for name, value in fractions.items()) or "none"
    if any(not 0 <= value <= 1 for value in fractions.values()):
        raise ConfigError(f"split fractions must be in [0, 1] (given: {shown})")
    if not math.isclose(sum(fractions.values()), 1.0, abs_tol=_TOLERANCE):
        raise ConfigError(f"split fractions must sum to 1, not {sum(fractions.values()):g} (given: {shown})")
    return {video: _interval(_position(video, seed), fractions) for video in videos}


def _position(video: str, seed: int) -> float:
    digest = hashlib.blake2b(f"{seed}\0{video}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53


def _interval(position: float, fractions: Mapping[str, float]) -> str:
    chosen, edge = "", 0.0
    for name, value in fractions.items():
        if value > 0:
            chosen, edge = name, edge + value
        if chosen and position < edge:
            break
    return chosen


@dataclass(frozen=True)
class GroupSplit:
    """Disjoint subjects of one round for training, validation and test."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def without_validation(self) -> "GroupSplit":
        """The split with the same test subjects and all others for training."""
        return GroupSplit((*self.train, *self.validation), (), self.test)


def held_out_groups(subjects: Sequence[str], size: int, seed: int) -> list[tuple[str, ...]]:
    """The subjects in the random order of `seed`, divided into groups of `size`; remaining subjects are in no group.

    Raises ConfigError for fewer than three groups, which test, validation and training need.
    """
    if size < 2 or len(subjects) // size < 3:
        raise ConfigError(
            f"{len(subjects)} subjects make {len(subjects) // max(1, size)} groups of {size}; at least 3 groups of 2 "
            "or more are needed, to test, to validate and to train with"
        )
    order = np.random.default_rng(seed).permutation(len(subjects)).tolist()
    return [tuple(subjects[i] for i in order[first : first + size]) for first in range(0, len(order) - size + 1, size)]


def group_split(subjects: Sequence[str], groups: Sequence[tuple[str, ...]], number: int) -> GroupSplit:
    """Group `number` for test, the next one, cyclically, for validation, and all other subjects for training."""
    test, validation = groups[number], groups[(number + 1) % len(groups)]
    return GroupSplit(tuple(s for s in subjects if s not in test and s not in validation), validation, test)


def folds(subjects: Sequence[str], count: int, seed: int) -> list[GroupSplit]:
    """`count` rounds of cross-validation by subject, without test subjects: every subject is in one validation set.

    Fold sizes differ by at most one. Raises ConfigError where a fold would have fewer than two subjects.
    """
    if count < 2 or len(subjects) // count < 2:
        raise ConfigError(f"{len(subjects)} subjects make no {count} folds of two or more; use fewer folds")
    order = np.random.default_rng(seed).permutation(len(subjects))
    parts = [{subjects[i] for i in part.tolist()} for part in np.array_split(order, count)]
    return [
        GroupSplit(tuple(s for s in subjects if s not in part), tuple(s for s in subjects if s in part), ())
        for part in parts
    ]


_POSITIVE = 2**63 - 1


@dataclass(frozen=True)
class Part:
    """The share of each batch that worker `rank` of `world` reads."""

    rank: int
    world: int


@dataclass(frozen=True)
class CaptionDraws:
    """Random captions for rows of whole videos, drawn before the number of captions, which only shards have, is known.

    The rows of a video share `seed`; row k of the video gets the k-th caption in the random order of this seed, modulo
    the number of captions: without replacement while there are enough.
    every: k continues over all epochs, and the order changes whenever all captions of a video have been used.
    """

    seed: Int64[np.ndarray, " rows"]
    turn: Int64[np.ndarray, " rows"]
    every: bool = False

    def __getitem__(self, rows: slice) -> "CaptionDraws":
        """The draws of a range of rows."""
        return CaptionDraws(self.seed[rows], self.turn[rows], self.every)

    def caption(self, row: int, captions: int) -> int:
        """The index of a row's caption, for a video with `captions` captions, at least one."""
        cycle, place = divmod(int(self.turn[row]), captions)
        seed = [int(self.seed[row]), cycle] if self.every else int(self.seed[row])
        return int(np.random.default_rng(seed).permutation(captions)[place])


@dataclass(frozen=True)
class BatchPlan:
    """The rows of one global batch, in file order, so that a contiguous part needs few row groups."""

    step: int
    group: Int64[np.ndarray, " rows"]
    """Row group of each row, numbered over the whole data set."""
    row: Int64[np.ndarray, " rows"]
    """Position of each row in its row group."""
    whole: tuple[int, ...] = ()
    """The row groups of the whole batch, in order; this plan may be a part of it."""
    draws: CaptionDraws | None = None
    """Caption draws, for whole videos."""

    @property
    def groups(self) -> list[int]:
        """The row groups of the batch, in order."""
        return np.unique(self.group).tolist()

    def part(self, rank: int, world: int) -> "BatchPlan":
        """The contiguous part of worker `rank` of `world`; the parts of all workers form the batch."""
        first, last = rank * len(self.row) // world, (rank + 1) * len(self.row) // world
        draws = None if self.draws is None else self.draws[first:last]
        return BatchPlan(self.step, self.group[first:last], self.row[first:last], self.whole, draws)


@dataclass(frozen=True)
class Sampling:
    """How the rows of a batch are sampled from its videos."""

    clips_per_video: int
    seed: int
    every_caption_of: int | None = None
    """The number of steps of an epoch, where a video's captions are used in turn over the epochs, equally often."""


@dataclass(frozen=True)
class BatchVideos:
    """The videos of one global batch, in file order, from which its rows are sampled."""

    step: int
    group: Int64[np.ndarray, " videos"]
    """Row group of each video, numbered over the whole data set."""
    first_row: Int64[np.ndarray, " videos"]
    """Position of each video's first row in its row group."""
    rows: Int64[np.ndarray, " videos"]
    """Rows of each video."""

    turn: Int64[np.ndarray, " videos"] | None = None
    """In an epoch of captions: which of the video's occurrences so far, counted from 0, this is."""

    @property
    def groups(self) -> list[int]:
        """The row groups of the videos, in order."""
        return np.unique(self.group).tolist()

    def sample(self, schema: Schema, sampling: Sampling) -> BatchPlan:
        """Sample `clips_per_video` rows of each video; captions where rows are whole videos; both for clips with
        several captions. In an epoch of captions every occurrence of a video has the next one of its captions.

        Sampling is without replacement where there are enough, with replacement otherwise.
        """
        group, row = (np.repeat(values, sampling.clips_per_video) for values in (self.group, self.first_row))
        if not isinstance(schema, VideoSchema):
            generator = np.random.default_rng([sampling.seed, self.step])
            row += np.concatenate([_sample(count, sampling.clips_per_video, generator) for count in self.rows.tolist()])
        draws = self._draws(sampling) if isinstance(schema, VideoSchema | FrameSchema) else None
        return BatchPlan(self.step, group, row, tuple(self.groups), draws)

    def _draws(self, sampling: Sampling) -> CaptionDraws:
        count = sampling.clips_per_video
        turns = np.tile(np.arange(count), len(self.group))
        if self.turn is None and sampling.every_caption_of is None:
            seeds = np.random.default_rng([sampling.seed, self.step]).integers(2**63, size=len(self.group))
            return CaptionDraws(np.repeat(seeds, count), turns)
        places = zip(self.group, self.first_row, strict=True)  # a seed for each video, the same in every epoch
        seeds = np.array([key64(f"{sampling.seed} {group} {row}") & _POSITIVE for group, row in places], np.int64)
        if self.turn is not None:
            turns = self.turn
        elif sampling.every_caption_of is not None:
            turns += self.step // sampling.every_caption_of * count
        return CaptionDraws(np.repeat(seeds, count), turns, every=True)


def _sample(rows: int, count: int, generator: np.random.Generator) -> np.ndarray:
    chosen = generator.choice(rows, count, replace=False) if rows >= count else generator.integers(rows, size=count)
    chosen.sort()
    return chosen


def _shuffled(
    videos: Int64[np.ndarray, " videos"], batch: int, generator: np.random.Generator
) -> Int64[np.ndarray, " videos"]:
    """The videos of a window in a random order. Videos that occur twice, to fill the last batch, occur once in any
    batch: their second occurrence is in the last batch, whose other videos are different."""
    once, counts = np.unique(videos, return_counts=True)
    if (counts == 1).all():
        return generator.permutation(videos)
    filling, single = once[counts > 1], generator.permutation(once[counts == 1])
    own = batch - len(filling)
    return np.concatenate([generator.permutation(np.concatenate([filling, single[own:]])), single[:own], filling])


@dataclass(frozen=True)
class RowGroup:
    """The position of a row group: the shard's index in the manifest and the group's index in its file."""

    shard: int
    index: int


def row_groups(manifest: Manifest) -> list[RowGroup]:
    """All row groups of a data set, in file order; a group's number is its position in this list."""
    return [RowGroup(s, g) for s, shard in enumerate(manifest.shards) for g in range(len(shard.row_groups))]


_NO_BAGS = {
    "videos": "whose captions have no times, so there are no bags of those nearest in time",
    "frames": "of which no bags of captions are made",
    "images": "which has no captions",
}
"""Why a batch of this kind of records has no candidate captions."""


def caption_counts(manifest: Manifest) -> Int64[np.ndarray, " videos"]:
    """The number of captions of every whole video, in file order; reads their keys."""
    counts = [np.zeros(0, np.int64)]
    for shard in manifest.shards:
        with ShardFile(manifest.place(shard), shard) as file:
            for group in range(len(shard.row_groups)):
                counts.append(file.columns(group, ["caption_keys"])["caption_keys"].value_lengths().to_numpy())
    return np.concatenate(counts).astype(np.int64)


class Plan:
    """The batches of every step of a run over one data set."""

    def __init__(self, manifest: Manifest, batch: BatchConfig, seed: int) -> None:
        if manifest.videos < batch.videos:
            unit = "subjects" if isinstance(manifest.schema, ImageSchema) else "videos"
            raise DatasetError(
                f"{manifest.uri} holds {manifest.videos} {unit}, fewer than a batch needs; "
                f"use --batch.videos {max(1, manifest.videos)} or less"
            )
        reason = _NO_BAGS.get(manifest.schema.kind)
        if reason is not None and batch.candidates > 1:
            raise DatasetError(
                f"{manifest.uri} is {manifest.schema.label()}, {reason}; leave out --batch.candidates "
                f"{batch.candidates}, or train on clips"
            )
        by_caption = batch.epoch == "captions"
        if (batch.captions == "every" or by_caption) and not isinstance(manifest.schema, VideoSchema):
            setting = "--batch.epoch captions" if by_caption else "--batch.captions every"
            raise DatasetError(
                f"{manifest.uri} is {manifest.schema.label()}; captions take turns over the epochs only in "
                f"{VideoSchema.label()}: leave out {setting}, or ingest with --records videos"
            )
        if by_caption and batch.clips_per_video > 1:
            raise ConfigError(
                f"--batch.epoch captions takes a caption of a video at a time; leave out --batch.clips-per-video "
                f"{batch.clips_per_video}"
            )
        self._batch = batch
        self._schema = manifest.schema
        self._seed = seed
        self.row_groups = tuple(row_groups(manifest))
        self.batches_per_window = batch.window
        self.extra_captions, self.max_frames = batch.candidates - 1, batch.max_frames
        groups = [counts for shard in manifest.shards for counts in shard.row_groups]
        self._counts = np.fromiter((n for counts in groups for n in counts), np.int64)
        self._videos_in_group = np.array([len(counts) for counts in groups], np.int64)
        self._first_video = np.cumsum(self._videos_in_group) - self._videos_in_group
        self._group_of_video = np.repeat(np.arange(len(groups)), self._videos_in_group)
        before = np.cumsum(self._counts) - self._counts
        self._first_row = before - before[self._first_video][self._group_of_video]
        self._captions = caption_counts(manifest) if by_caption else None
        rows = manifest.videos if self._captions is None else int(self._captions.sum())
        self.steps_per_epoch = -(-rows // batch.videos) if batch.remainder == "filled" else rows // batch.videos
        every = self.steps_per_epoch if batch.captions == "every" else None
        self.sampling = Sampling(batch.clips_per_video, seed, every)
        self.windows_per_epoch = -(-self.steps_per_epoch // batch.window)

    def window_of(self, step: int) -> int:
        """The number of the window of `step`, counted over all epochs."""
        epoch, position = divmod(step, self.steps_per_epoch)
        return epoch * self.windows_per_epoch + position // self._batch.window

    def window(self, number: int) -> list[BatchPlan]:
        """The batches of window `number`, in order of their steps."""
        return [batch.sample(self._schema, self.sampling) for batch in self.videos(number)]

    def videos(self, number: int) -> list[BatchVideos]:
        """The videos of each batch of window `number`."""
        epoch, index = divmod(number, self.windows_per_epoch)
        first = index * self._batch.window
        last = min(first + self._batch.window, self.steps_per_epoch)
        generator = np.random.default_rng([self._seed, epoch, index])
        step = epoch * self.steps_per_epoch + first
        window = slice(first * self._batch.videos, last * self._batch.videos)
        turns: Int64[np.ndarray, " videos"] | None = None
        if self._captions is None:
            videos = _shuffled(self._epoch_order(epoch)[window], self._batch.videos, generator)
        else:
            videos, occurrence = (values[window] for values in self._caption_order(epoch))
            order = generator.permutation(len(videos))
            videos, turns = videos[order], (epoch * self._captions[videos] + occurrence)[order]
        batches = []
        for i, place in enumerate(np.split(np.arange(len(videos)), last - first)):
            place = place[np.argsort(videos[place], kind="stable")]  # in file order
            group, first_row, counts = (
                values[videos[place]] for values in (self._group_of_video, self._first_row, self._counts)
            )
            batches.append(BatchVideos(step + i, group, first_row, counts, None if turns is None else turns[place]))
        return batches

    @lru_cache(maxsize=2)  # noqa: B019  (plans live until the process ends)
    def _caption_order(self, epoch: int) -> tuple[Int64[np.ndarray, " captions"], Int64[np.ndarray, " captions"]]:
        """The video of every row of an epoch of captions, and which of the epoch's occurrences of the video it is.

        A row group comes as often as its videos have captions, at most, spread evenly over the epoch from a random
        start: so a window reads few row groups, and data sets of many and of few captions mix. Of all videos of a row
        group those come that have a caption left.
        """
        assert self._captions is not None
        generator = np.random.default_rng([self._seed, epoch])
        groups, longest = self._group_of_video, np.zeros(len(self.row_groups), np.int64)
        np.maximum.at(longest, groups, self._captions)
        start = generator.random(len(longest))
        video = np.repeat(np.arange(len(groups)), self._captions)
        turn = np.arange(len(video)) - np.repeat(np.cumsum(self._captions) - self._captions, self._captions)
        shift = generator.integers(np.maximum(longest, 1))  # rare captions do not all come at the epoch's start
        place = (turn + shift[groups[video]]) % longest[groups[video]]
        position = (place + start[groups[video]]) / longest[groups[video]]
        order = np.lexsort((groups[video], position))
        total = max(len(order), self.steps_per_epoch * self._batch.videos)
        return np.resize(video[order], total), np.resize(turn[order], total)

    def places(self, step: int) -> list[RowGroup]:
        """The row groups of the batch of `step`, for messages."""
        batch = next(batch for batch in self.window(self.window_of(step)) if batch.step == step)
        return [self.row_groups[group] for group in batch.groups]

    @lru_cache(maxsize=2)  # noqa: B019  (plans live until the process ends)
    def _epoch_order(self, epoch: int) -> Int64[np.ndarray, " videos"]:
        """All videos in the order of the epoch's permuted row groups, each rotated cyclically by a random offset.

        The videos after the last full batch are left out, or the epoch's first videos fill the last batch; without the
        rotation a small data set would lose the same videos in every epoch.
        """
        generator = np.random.default_rng([self._seed, epoch])
        groups = generator.permutation(len(self.row_groups))
        sizes = self._videos_in_group[groups]
        start = np.cumsum(sizes) - sizes - generator.integers(sizes)
        offsets = (np.arange(sizes.sum()) - np.repeat(start, sizes)) % np.repeat(sizes, sizes)
        order = np.repeat(self._first_video[groups], sizes) + offsets
        return np.resize(order, max(len(order), self.steps_per_epoch * self._batch.videos))


@dataclass(frozen=True)
class Run:
    """Consecutive rows of a batch, from `begin` on, which are the rows `row` of one row group."""

    batch: int
    begin: int
    row: np.ndarray


def runs_of(batches: Sequence[BatchPlan]) -> dict[int, list[Run]]:
    """The runs of each row group, by its number, in file order."""
    runs: dict[int, list[Run]] = {}
    for i, batch in enumerate(batches):
        starts = np.flatnonzero(np.diff(batch.group, prepend=-1)).tolist()
        for begin, end in pairwise([*starts, len(batch.group)]):
            runs.setdefault(int(batch.group[begin]), []).append(Run(i, begin, batch.row[begin:end]))
    return dict(sorted(runs.items()))


def candidate_tokens(
    tokens: Int32[np.ndarray, "rows max_words"],
    video_key: Int64[np.ndarray, " rows"],
    start: Float[np.ndarray, " rows"],
    end: Float[np.ndarray, " rows"],
    extra: int,
) -> Int32[np.ndarray, "rows extra max_words"]:
    """The tokens of the `extra` captions of the same video that are nearest in time to each row (MIL-NCE's bags).

    The distance is that between the middles of clips, ties by row (Miech et al. 2020, section 3.1). Rows of a video
    must be adjacent, as in row groups. Captions without a known word are no candidates; where a video has too few, the
    row's own caption fills the bag, so that a bag is empty only where its own caption is.
    """
    chosen = nearest_rows(video_key, (start + end) / 2, (tokens != 0).any(axis=1), extra)
    return tokens[chosen]


def nearest_rows(
    video_key: Int64[np.ndarray, " rows"],
    middle: Float[np.ndarray, " rows"],
    usable: Bool[np.ndarray, " rows"],
    extra: int,
) -> Int[np.ndarray, "rows extra"]:
    """The `extra` usable other rows of each row's video that are nearest in time, padded by the row itself."""
    chosen = np.repeat(np.arange(len(video_key))[:, None], extra, axis=1)
    bounds = np.flatnonzero(np.diff(video_key, prepend=video_key[:1] - 1, append=video_key[-1:] - 1))
    for first, last in pairwise(bounds):
        distance = np.abs(middle[first:last, None] - middle[None, first:last])
        distance[:, ~usable[first:last]] = np.inf
        np.fill_diagonal(distance, np.inf)
        order = np.argsort(distance, axis=1, kind="stable")[:, :extra]
        is_usable = np.isfinite(np.take_along_axis(distance, order, axis=1))
        own = chosen[first:last, : order.shape[1]]
        chosen[first:last, : order.shape[1]] = np.where(is_usable, first + order, own)
    return chosen
