"""Shards of `videos`: one row per video, with all its captions and the frames of every feature."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from vtr_core.data.ingest.caption_tokens import caption_tokens
from vtr_core.data.ingest.video_rows import frame_columns, video_row_groups
from vtr_core.data.records.binary_columns import sequence_binary
from vtr_core.data.records.schema import CAPTION_VECTORS, VideoSchema
from vtr_core.data.shards.writing import GroupTable, caption_key
from vtr_core.data.sources.source import Drops, Video, VideoEntry, VideoSource
from vtr_core.errors import InputError
from vtr_core.fingerprint import key64
from vtr_core.text.tokens.vocabulary import Vocabulary


def video_groups(
    source: VideoSource, schema: VideoSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of `videos`. A video that cannot be used is left out."""
    read = (source.video(video, drops) for video in videos)
    yield from video_row_groups(read, lambda group: _table(group, schema, vocabulary, drops))


def _table(group: Sequence[Video], schema: VideoSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
    for video in group:
        _check_caption_vectors(video)
    tokens = [caption_tokens(video.captions, vocabulary, schema.max_words, drops) for video in group]
    columns: dict[str, pa.Array | Sequence[object]] = {
        "video_id": [video.video_id for video in group],
        "video_key": [key64(video.video_id) for video in group],
        "captions": [list(video.captions) for video in group],
        "caption_keys": [[caption_key(caption) for caption in video.captions] for video in group],
        "tokens": sequence_binary(tokens),
        **frame_columns(schema.features, group),
    }
    return pa.table(columns, schema=schema.arrow())


def _check_caption_vectors(video: Video) -> None:
    vectors = video.features.get(CAPTION_VECTORS)
    if vectors is not None and len(vectors) != len(video.captions):
        raise InputError(
            f"video {video.video_id} has {len(vectors)} {CAPTION_VECTORS} vectors and {len(video.captions)} captions; "
            "give one for each caption, in order"
        )
