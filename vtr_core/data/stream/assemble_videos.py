"""Batches of whole videos from row groups: padded frames, their means, and one caption per row.

The length of a batch's frames is known only after all its row groups are read. The rows of each row group are therefore
padded separately first and joined batch by batch; only frames that rows need are kept in memory.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float16, Int64

from vtr_core.data.plan.plan import BatchPlan, CaptionDraws
from vtr_core.data.plan.runs import Run
from vtr_core.data.reading.replacing import Damaged, Each, Places, read_groups
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.records.frames import kept_column, mean_column, means, pad
from vtr_core.data.records.pooled import pooled
from vtr_core.data.records.schema import CAPTION_VECTORS, FEATURE_DTYPE, TOKEN_DTYPE, VideoSchema
from vtr_core.data.records.stored_videos import StoredVideos, stored_videos


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

    for found, runs in read_groups(read, batches, damaged, tolerant, each):
        for run, columns in zip(runs, found, strict=True):
            pieces[run.batch][run.begin] = columns
    return _joined(pieces), damaged


def _rows(group: StoredVideos, run: Run, draws: CaptionDraws | None, max_frames: int, mean: bool) -> Columns:
    """The columns of a run's rows."""
    columns: Columns = {}
    for name, frames in group.frames.items():
        padded = pad(frames, run.row, max_frames)
        columns |= {name: padded.values, kept_column(name): padded.kept}
        if mean:
            columns[mean_column(name)] = means(frames, run.row)
    assert draws is not None, "the plan of another data set"
    chosen = _captions(group, run, draws)
    told = chosen >= 0
    columns["tokens"] = np.zeros((len(chosen), group.tokens.vectors.shape[1]), TOKEN_DTYPE)
    columns["tokens"][told] = group.tokens.vectors[chosen[told]]
    columns["caption_key"] = np.zeros(len(chosen), np.int64)
    columns["caption_key"][told] = group.caption_key[chosen[told]]
    if group.caption_vectors is not None:
        vectors = np.zeros((len(chosen), 1, group.caption_vectors.vectors.shape[1]), FEATURE_DTYPE)
        vectors[told, 0] = group.caption_vectors.vectors[chosen[told]]
        columns[CAPTION_VECTORS], columns[kept_column(CAPTION_VECTORS)] = vectors, told.astype(np.int64)
        if mean:
            columns[mean_column(CAPTION_VECTORS)] = vectors[:, 0].astype(np.float32)
    columns["clip_key"] = columns["video_key"] = group.video_key[run.row]
    return columns


def _captions(group: StoredVideos, run: Run, draws: CaptionDraws) -> Int64[np.ndarray, " rows"]:
    """The position of each row's caption among those of the row group; -1 for a video without captions."""
    counts, first = group.tokens.counts[run.row].tolist(), group.first_caption[run.row].tolist()
    drawn = [draws.caption(run.begin + i, count) if count else -1 for i, count in enumerate(counts)]
    return np.array([at + caption if caption >= 0 else -1 for at, caption in zip(first, drawn, strict=True)], np.int64)


def _joined(pieces: list[dict[int, Columns]]) -> Iterator[Columns]:
    """The batches, each concatenated from its pieces by position; the pieces are released afterwards."""
    while pieces:
        parts = [columns for _, columns in sorted(pieces.pop(0).items())]
        yield {name: _together([part[name] for part in parts]) for name in parts[0]}


def _together(parts: Sequence[np.ndarray]) -> np.ndarray:
    return _frames_together(parts) if parts[0].ndim == 3 else np.concatenate(parts)


def _frames_together(parts: Sequence[Float16[np.ndarray, "_ _ dim"]]) -> Float16[np.ndarray, "rows longest dim"]:
    rows, longest = sum(len(part) for part in parts), max(part.shape[1] for part in parts)
    values, first = pooled((rows, longest, parts[0].shape[2]), FEATURE_DTYPE), 0
    for part in parts:
        target = values[first : first + len(part)]
        target[:, : part.shape[1]] = part
        target[:, part.shape[1] :] = 0
        first += len(part)
    return values
