"""Shards of `videos`: one row per video, with all its captions and the frames of every feature."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from jaxtyping import Int32

from vtr_core.data.binary_columns import sequence_binary
from vtr_core.data.schema import VideoSchema
from vtr_core.data.sources.source import Drops, Video, VideoEntry, VideoSource
from vtr_core.data.video_rows import frame_columns, video_row_groups
from vtr_core.data.writing import GroupTable, caption_key
from vtr_core.fingerprint import key64
from vtr_core.text.vocabulary import Vocabulary


def video_groups(
    source: VideoSource, schema: VideoSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of `videos`. A video that cannot be used leaves no trace."""
    read = (source.video(video, drops) for video in videos)
    yield from video_row_groups(read, lambda group: _table(group, schema, vocabulary))


def _table(group: Sequence[Video], schema: VideoSchema, vocabulary: Vocabulary) -> pa.Table:
    columns: dict[str, pa.Array | Sequence[object]] = {
        "video_id": [video.video_id for video in group],
        "video_key": [key64(video.video_id) for video in group],
        "captions": [list(video.captions) for video in group],
        "caption_keys": [[caption_key(caption) for caption in video.captions] for video in group],
        "tokens": sequence_binary([_tokens(video, schema, vocabulary) for video in group]),
        **frame_columns(schema.features, group),
    }
    return pa.table(columns, schema=schema.arrow())


def _tokens(video: Video, schema: VideoSchema, vocabulary: Vocabulary) -> Int32[np.ndarray, "captions max_words"]:
    return np.stack([vocabulary.encode(caption, schema.max_words) for caption in video.captions])
