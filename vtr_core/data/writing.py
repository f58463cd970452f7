"""Shards from clips: Parquet files whose row groups hold whole videos."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.data.manifest import Shard
from vtr_core.data.schema import FEATURE_DTYPE, ClipSchema, FeatureSpec, fixed_size_binary
from vtr_core.data.sources.source import Clip, Drops, Source, VideoEntry
from vtr_core.fingerprint import key64
from vtr_core.storage import Location, open_for_writing
from vtr_core.text.vocabulary import Vocabulary, tokenise

ROWS_PER_GROUP = 1000
"""Rows after which a row group is closed, at the end of a video."""


@dataclass(frozen=True)
class VideoClips:
    """The clips that one video gave, at least one."""

    video_id: str
    clips: Sequence[Clip]


class ShardWriter:
    """Makes one Parquet file of a schema and vocabulary."""

    def __init__(self, schema: ClipSchema, vocabulary: Vocabulary) -> None:
        self._schema = schema
        self._vocabulary = vocabulary

    def write(self, source: Source, videos: Iterable[VideoEntry], location: Location, drops: Drops) -> Shard:
        """Write the clips of `videos` to `location`; the file is there whole or not at all."""
        groups: list[tuple[int, ...]] = []
        with open_for_writing(location) as sink:
            hashing = _HashingSink(sink)
            with pq.ParquetWriter(hashing, self._schema.arrow(), **_LAYOUT) as writer:
                for group in _row_groups(source, videos, drops):
                    writer.write_table(self._table(group), row_group_size=2**31 - 1)
                    groups.append(tuple(len(video.clips) for video in group))
        rows = sum(sum(group) for group in groups)
        return Shard(location.name, rows, hashing.size, hashing.digest.hexdigest(), tuple(groups))

    def _table(self, group: Sequence[VideoClips]) -> pa.Table:
        clips = [clip for video in group for clip in video.clips]
        video_ids = [video.video_id for video in group for _ in video.clips]
        columns: dict[str, pa.Array | list[object]] = {
            "clip_id": [clip.clip_id for clip in clips],
            "video_id": list(video_ids),
            "start": [clip.start for clip in clips],
            "end": [clip.end for clip in clips],
            "caption": [clip.caption for clip in clips],
            "clip_key": [key64(clip.clip_id) for clip in clips],
            "video_key": [key64(video_id) for video_id in video_ids],
            "caption_key": [key64(" ".join(tokenise(clip.caption))) for clip in clips],
            "tokens": fixed_size_binary(self._tokens(clips)),
        }
        for feature in self._schema.features:
            columns[feature.name] = fixed_size_binary(_stack(clips, feature))
            columns[feature.presence] = [feature.name in clip.features for clip in clips]
        return pa.table(columns, schema=self._schema.arrow())

    def _tokens(self, clips: Sequence[Clip]) -> np.ndarray:
        return np.stack([self._vocabulary.encode(clip.caption, self._schema.max_words) for clip in clips])


_LAYOUT = {"compression": "none", "use_dictionary": ["video_id"], "write_statistics": False}
"""Uncompressed and without dictionaries on features: the layout that reads at the disk's rate."""


def _row_groups(source: Source, videos: Iterable[VideoEntry], drops: Drops) -> Iterator[list[VideoClips]]:
    """Whole videos gathered until there are ROWS_PER_GROUP rows. A video without a usable clip leaves no trace."""
    group: list[VideoClips] = []
    rows = 0
    for video in videos:
        clips = list(source.clips(video, drops))
        if not clips:
            continue
        group.append(VideoClips(video.video_id, clips))
        rows += len(clips)
        if rows >= ROWS_PER_GROUP:
            yield group
            group, rows = [], 0
    if group:
        yield group


def _stack(clips: Sequence[Clip], feature: FeatureSpec) -> np.ndarray:
    """(clips, dim) float16; zeros where a clip lacks the feature, which its presence column tells."""
    stacked = np.zeros((len(clips), feature.dim), FEATURE_DTYPE)
    for row, clip in zip(stacked, clips, strict=True):
        if feature.name in clip.features:
            row[:] = clip.features[feature.name]
    return stacked


class _HashingSink:
    """A binary sink that counts and hashes what passes to another."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self.digest = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Pass `data` on."""
        self.digest.update(data)
        self.size += len(data)
        self._sink.write(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back here."""

    def close(self) -> None:
        """The inner sink is closed by whoever opened it."""
        self.closed = True

    def tell(self) -> int:
        """Bytes written so far."""
        return self.size

    def readable(self) -> bool:
        """Write only."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Never."""
        return False
