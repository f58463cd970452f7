"""Shards of `steps`: one row per video, with the ordered steps of its task, their segments and a frame per second."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pyarrow as pa
from jaxtyping import Int32

from vtr_core.data.ingest.caption_tokens import caption_tokens
from vtr_core.data.ingest.video_rows import frame_columns, video_row_groups
from vtr_core.data.records.binary_columns import sequence_binary
from vtr_core.data.records.schema import StepSchema
from vtr_core.data.shards.writing import GroupTable
from vtr_core.data.sources.source import Drops, StepSource, StepVideo, VideoEntry
from vtr_core.fingerprint import key64
from vtr_core.text.tokens.vocabulary import Vocabulary


def step_groups(
    source: StepSource, schema: StepSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of `videos`. A video that cannot be used is left out."""
    read = (source.step_video(video, drops) for video in videos)
    yield from video_row_groups(read, lambda group: _table(group, schema, vocabulary, drops))


def _table(group: Sequence[StepVideo], schema: StepSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
    columns: dict[str, pa.Array | Sequence[object]] = {
        "video_id": [video.video_id for video in group],
        "video_key": [key64(video.video_id) for video in group],
        "task": [video.task for video in group],
        "steps": [list(video.steps) for video in group],
        "labels": [list(video.labels) for video in group],
        "tokens": sequence_binary([_tokens(video, schema, vocabulary, drops) for video in group]),
        "segments": [[asdict(segment) for segment in video.segments] for video in group],
        **frame_columns(schema.features, group),
    }
    return pa.table(columns, schema=schema.arrow())


def _tokens(
    video: StepVideo, schema: StepSchema, vocabulary: Vocabulary, drops: Drops
) -> Int32[np.ndarray, "steps max_words"]:
    assert len(video.steps) == len(video.labels) > 0, f"{video.video_id}: a label for each step, and at least one step"
    return caption_tokens(video.steps, vocabulary, schema.max_words, drops)
