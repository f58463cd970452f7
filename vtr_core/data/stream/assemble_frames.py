"""Batches of clips with frames: decoded in the reading task, padded, with one caption per row.

The frames of all batches of a window are kept in encoded form, and decoded batch by batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from vtr_core.data.plan.plan import BatchPlan
from vtr_core.data.reading.pictures import StoredClip, StoredClips, undecodable
from vtr_core.data.reading.replacing import Damaged, Places, read_groups
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.records.frames import kept_column
from vtr_core.data.records.pictures import BadPicture, decoded
from vtr_core.data.records.pooled import pooled
from vtr_core.data.records.schema import FRAMES, PIXEL_DTYPE, FrameSchema


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
        told = [plan.draws.caption(row, len(clip.caption_keys)) for row, (clip, _) in enumerate(shown)]
        found = list(zip([clip for clip, _ in shown], told, strict=True))
        columns = {
            FRAMES: frames,
            kept_column(FRAMES): np.array([len(pixels) for _, pixels in shown], np.int64),
            "tokens": np.stack([clip.tokens[caption] for clip, caption in found]),
            "caption_key": np.array([clip.caption_keys[caption] for clip, caption in found], np.int64),
            "clip_key": np.array([clip.clip_key for clip, _ in found], np.int64),
            "video_key": np.array([clip.video_key for clip, _ in found], np.int64),
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
