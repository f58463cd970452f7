"""Batches assembled from the row groups of a plan, without Ray, also by threads of this process."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float16, UInt8

from vtr_core.config.data_sets import OnBadShard
from vtr_core.data.plan import BatchPlan, CaptionDraws, Part, Plan, Run, candidate_tokens
from vtr_core.data.reading.row_groups import (
    TIMES,
    Columns,
    Damaged,
    Each,
    Places,
    RowGroupReader,
    read_groups,
    readable,
)
from vtr_core.data.reading.stored_rows import BadPicture, StoredClip, StoredClips, decoded, undecodable
from vtr_core.data.records.arrays import (
    MAX_FRAMES,
    StoredVideos,
    kept_column,
    mean_column,
    means,
    pad,
    pooled,
    stored_videos,
)
from vtr_core.data.records.schema import (
    CAPTION_VECTORS,
    FEATURE_DTYPE,
    FRAMES,
    PIXEL_DTYPE,
    TOKEN_DTYPE,
    FrameSchema,
    VideoSchema,
)
from vtr_core.limits import num_usable


def fill_frames(
    reader: RowGroupReader,
    schema: FrameSchema,
    places: Places,
    batches: Sequence[BatchPlan],
    max_frames: int,
    tolerant: bool = False,
) -> tuple[Iterator[Columns], Damaged]:
    """All batches, and with `tolerant` the faults of unreadable row groups, which invalidate the batches.

    Columns: `frames` uint8 (rows, longest, height · width · 3), padded with zeros; int64 `frames.kept` (rows,);
    `tokens` int32 (rows, max_words) and int64 `caption_key` of the row's caption; int64 `clip_key` and `video_key`.
    Clips with more than `max_frames` frames are sampled in equal steps from the first to the last.

    Raises DamagedShard for a clip with an undecodable frame. With `tolerant` the next clip of its row group, in cyclic
    order, replaces it, independently of the number of workers, and `replaced` counts it (row group, rows).
    """
    held: list[dict[int, list[StoredClip]]] = [{} for _ in batches]
    damaged: Damaged = {}
    read = read_groups(
        lambda number, _: StoredClips(number, reader.read_arrow(places[number]), schema), batches, damaged, tolerant
    )
    for group, runs in read:
        for run in runs:
            held[run.batch][run.begin] = [group.clip(row, max_frames) for row in run.row.tolist()]
    filling = _Filling(reader, schema, places, max_frames, tolerant)
    # Rows of damaged row groups are read with those of another, so runs come in another order than the batch's.
    rows = [[clip for _, run in sorted(runs.items()) for clip in run] for runs in held]
    return (filling.batch(batch, clips) for batch, clips in zip(batches, rows, strict=True)), damaged


@dataclass(frozen=True)
class _Filling:
    """Builds batches of clips."""

    reader: RowGroupReader
    schema: FrameSchema
    places: Places
    max_frames: int
    tolerant: bool

    def batch(self, plan: BatchPlan, clips: Sequence[StoredClip]) -> Columns:
        """The columns of a batch."""
        shown = [self._readable(clip) for clip in clips]
        longest = max(len(pixels) for _, pixels in shown)
        height, width = self.schema.height, self.schema.width
        frames = pooled((len(shown), longest, height * width * 3), PIXEL_DTYPE)
        for target, (_, pixels) in zip(frames, shown, strict=True):
            target[: len(pixels)] = pixels.reshape(len(pixels), -1)
            target[len(pixels) :] = 0
        assert plan.draws is not None, "the plan of another data set"
        drawn = [plan.draws.caption(row, len(clip.caption_keys)) for row, (clip, _) in enumerate(shown)]
        chosen = list(zip([clip for clip, _ in shown], drawn, strict=True))
        columns = {
            FRAMES: frames,
            kept_column(FRAMES): np.array([len(pixels) for _, pixels in shown], np.int64),
            "tokens": np.stack([clip.tokens[caption] for clip, caption in chosen]),
            "caption_key": np.array([clip.caption_keys[caption] for clip, caption in chosen], np.int64),
            "clip_key": np.array([clip.clip_key for clip, _ in chosen], np.int64),
            "video_key": np.array([clip.video_key for clip, _ in chosen], np.int64),
        }
        bad = [clip.group for clip, (instead, _) in zip(clips, shown, strict=True) if instead is not clip]
        if bad:
            columns["replaced"] = np.stack(np.unique(bad, return_counts=True), axis=1).astype(np.int64)
        return columns

    def _readable(self, clip: StoredClip) -> tuple[StoredClip, UInt8[np.ndarray, "frames height width 3"]]:
        """The clip or its replacement, with its pixels."""
        try:
            return clip, decoded(clip.frames, self.schema)
        except BadPicture as fault:
            error = undecodable(self.reader.manifest, self.places[clip.group], clip.row, fault)
            if not self.tolerant:
                raise error from fault
        group = StoredClips(clip.group, self.reader.read_arrow(self.places[clip.group]), self.schema)
        rows = len(group.columns["clip_key"])
        for step in range(1, rows):
            instead = group.clip((clip.row + step) % rows, self.max_frames)
            try:
                return instead, decoded(instead.frames, self.schema)
            except BadPicture:
                continue
        raise error


def fill_videos(
    reader: RowGroupReader,
    schema: VideoSchema,
    places: Places,
    batches: Sequence[BatchPlan],
    max_frames: int,
    tolerant: bool = False,
    each: Each = map,
) -> tuple[Iterator[Columns], Damaged]:
    """All batches, and with `tolerant` the faults of unreadable row groups, which invalidate the batches.

    Columns: for every read feature float16 (rows, longest, dim), int64 `<name>.kept` and, with the reader's `means`,
    float32 `<name>.mean` (rows, dim); `tokens` int32 (rows, max_words) and int64 `caption_key` of the row's caption (no
    tokens and 0 for a video without captions); int64 `video_key`, also as `clip_key`. The feature `text` has a single
    frame, the vector of the row's caption. Row groups are read by `each`.
    """
    pieces: list[dict[int, Columns]] = [{} for _ in batches]
    damaged: Damaged = {}

    def read(number: int, runs: Sequence[Run]) -> list[Columns]:
        group = stored_videos(reader.read_arrow(places[number]), schema)
        return [_rows(group, run, batches[run.batch].draws, max_frames, reader.means) for run in runs]

    for parts, runs in read_groups(read, batches, damaged, tolerant, each):
        for run, columns in zip(runs, parts, strict=True):
            pieces[run.batch][run.begin] = columns
    return _joined(pieces), damaged


def _rows(group: StoredVideos, run: Run, draws: CaptionDraws | None, max_frames: int, mean: bool) -> Columns:
    """The columns of a run's rows; `chosen` is the place of a row's caption in the row group, -1 where it has none."""
    columns: Columns = {}
    for name, frames in group.frames.items():
        padded = pad(frames, run.row, max_frames)
        columns |= {name: padded.values, kept_column(name): padded.lengths}
        if mean:
            columns[mean_column(name)] = means(frames, run.row)
    assert draws is not None, "the plan of another data set"
    counts, first = group.tokens.counts[run.row].tolist(), group.first_caption[run.row].tolist()
    drawn = [draws.caption(run.begin + i, count) if count else -1 for i, count in enumerate(counts)]
    chosen = np.array(
        [at + caption if caption >= 0 else -1 for at, caption in zip(first, drawn, strict=True)], np.int64
    )
    has_caption = chosen >= 0
    columns["tokens"] = np.zeros((len(chosen), group.tokens.vectors.shape[1]), TOKEN_DTYPE)
    columns["tokens"][has_caption] = group.tokens.vectors[chosen[has_caption]]
    columns["caption_key"] = np.zeros(len(chosen), np.int64)
    columns["caption_key"][has_caption] = group.caption_key[chosen[has_caption]]
    if group.caption_vectors is not None:
        vectors = np.zeros((len(chosen), 1, group.caption_vectors.vectors.shape[1]), FEATURE_DTYPE)
        vectors[has_caption, 0] = group.caption_vectors.vectors[chosen[has_caption]]
        columns[CAPTION_VECTORS], columns[kept_column(CAPTION_VECTORS)] = vectors, has_caption.astype(np.int64)
        if mean:
            columns[mean_column(CAPTION_VECTORS)] = vectors[:, 0].astype(np.float32)
    columns["clip_key"] = columns["video_key"] = group.video_key[run.row]
    return columns


def _joined(pieces: list[dict[int, Columns]]) -> Iterator[Columns]:
    """The batches, each concatenated from its pieces by position; the pieces are released afterwards."""
    while pieces:
        parts = [columns for _, columns in sorted(pieces.pop(0).items())]
        columns = {name: [part[name] for part in parts] for name in parts[0]}
        yield {name: _padded(own) if own[0].ndim == 3 else np.concatenate(own) for name, own in columns.items()}


def _padded(parts: Sequence[Float16[np.ndarray, "_ _ dim"]]) -> Float16[np.ndarray, "rows longest dim"]:
    rows, longest = sum(len(part) for part in parts), max(part.shape[1] for part in parts)
    values, first = pooled((rows, longest, parts[0].shape[2]), FEATURE_DTYPE), 0
    for part in parts:
        target = values[first : first + len(part)]
        target[:, : part.shape[1]] = part
        target[:, part.shape[1] :] = 0
        first += len(part)
    return values


def assemble(
    reader: RowGroupReader,
    places: Places,
    batches: Sequence[BatchPlan],
    extra_captions: int = 0,
    on_bad_shard: OnBadShard = "fail",
    max_frames: int = MAX_FRAMES,
    each: Each = map,
) -> Iterator[Columns]:
    """The rows of each planned batch, in order. Every row group is read once, before the first batch.

    With `extra_captions` a batch has `candidate_tokens` (rows, extra_captions, max_words): see `candidate_tokens`. For
    whole videos see `fill_videos`, for clips with frames `fill_frames`; `max_frames` limits the frames of a row. Row
    groups of clips and whole videos are read by `each`, which may do so on several threads.

    Raises DamagedShard for a row group that cannot be read or verified. With "skip", each of its rows is replaced by a
    row of the next readable row group of the whole batch, in cyclic order, so that the batch keeps its size and does
    not depend on the number of workers; a batch then has `replaced` (bad row groups, 2): for each bad row group its
    number and the number of replaced rows. DamagedShard also where no row group of a batch is readable.
    """
    schema, tolerant = reader.schema, on_bad_shard == "skip"

    def fill(planned: Sequence[BatchPlan]) -> tuple[Iterator[Columns], Damaged]:
        if isinstance(schema, VideoSchema):
            return fill_videos(reader, schema, places, planned, max_frames, tolerant, each)
        if isinstance(schema, FrameSchema):
            return fill_frames(reader, schema, places, planned, max_frames, tolerant)
        return _fill_clips(reader, places, planned, extra_captions, tolerant, each)

    yield from readable(fill, reader, places, batches) if tolerant else fill(batches)[0]


def _fill_clips(
    reader: RowGroupReader,
    places: Places,
    batches: Sequence[BatchPlan],
    extra_captions: int,
    tolerant: bool,
    each: Each,
) -> tuple[Iterator[Columns], Damaged]:
    """All batches, and with `tolerant` the faults of unreadable row groups, which invalidate the batches."""
    filled: list[Columns] = [{} for _ in batches]
    damaged: Damaged = {}

    def read(number: int, runs: Sequence[Run]) -> None:
        columns = reader.read(places[number])
        if extra_captions:
            start, end = (columns.pop(name) for name in TIMES)
            tokens, video_key = columns["tokens"], columns["video_key"]
            columns["candidate_tokens"] = candidate_tokens(tokens, video_key, start, end, extra_captions)
        for name, column in columns.items():
            for run in runs:
                shape = len(batches[run.batch].row), *column.shape[1:]
                _take(column, run.row, _part(filled[run.batch], name, shape, column.dtype, run))

    for _ in read_groups(read, batches, damaged, tolerant, each):
        pass
    return (filled.pop(0) for _ in batches), damaged  # each is released after it was yielded


def _part(batch: Columns, name: str, shape: tuple[int, ...], dtype: np.dtype, run: Run) -> np.ndarray:
    """The memory of a run's rows in a column of a batch; `shape` is that of the whole column."""
    if name not in batch:  # another thread may put it there meanwhile
        batch.setdefault(name, pooled(shape, dtype))
    return batch[name][run.begin : run.begin + len(run.row)]


def _take(source: np.ndarray, rows: np.ndarray, target: np.ndarray) -> None:
    """`target[i] = source[rows[i]]`; rows are copied as bytes."""
    if source.ndim == 2:
        source, target = source.view(np.uint8), target.view(np.uint8)
    # indices are in range; with the default mode numpy would copy into a buffer first
    source.take(rows, axis=0, out=target, mode="clip")


THREADS = 4
"""The most threads that read; reading, checksums and copies hold no lock of Python's."""


def read_directly(
    reader: RowGroupReader,
    plan: Plan,
    part: Part,
    first_step: int,
    prefetch: int = 2,  # noqa: ARG001
    on_bad_shard: OnBadShard = "fail",
) -> Iterator[Columns]:
    """The endless batches of `part` from `first_step` on, equal to those of `vtr_core.data.stream.reading.stream`.

    One window is read ahead, independently of its number of batches.
    """
    number, threads = plan.window_of(first_step), min(THREADS, num_usable())
    with ThreadPoolExecutor(threads, "read-group") as groups, ThreadPoolExecutor(1, "read-window") as ahead:
        read = partial(_window, reader, plan, part, on_bad_shard, groups.map)
        following = ahead.submit(read, number)
        while True:
            batches, number = following.result(), number + 1
            following = ahead.submit(read, number)
            yield from (batch for batch in batches if int(batch["step"][0]) >= first_step)


def _window(
    reader: RowGroupReader, plan: Plan, part: Part, on_bad_shard: OnBadShard, each: Each, number: int
) -> list[Columns]:
    planned = [batch.part(part.rank, part.world) for batch in plan.window(number)]
    places = dict(enumerate(plan.row_groups))
    read = assemble(reader, places, planned, plan.extra_captions, on_bad_shard, plan.max_frames, each)
    return [{"step": np.array([batch.step], np.int64), **next(read)} for batch in planned]
