"""Information content of the captions and videos of a corpus, cached by the hash of the corpus."""

import io
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float64, Int64

from vtr_core import storage
from vtr_core.config.losses.granularity import Reading
from vtr_core.data.captions.video_captions import VideoCaptions, video_captions
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.writing import caption_key
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, StorageError, locate
from vtr_core.text.statistics.information import information
from vtr_core.text.tokens.vocabulary import tokenise

_VERSION = 1
"""Version of the computation, part of the cache key."""
_SCHEMA = pa.schema([("video_key", pa.int64()), ("caption_key", pa.int64()), ("value", pa.float64())])


@dataclass(frozen=True)
class InformationTable:
    """The value of each distinct caption of each video, sorted by video key and caption key."""

    reading: Reading
    corpus: str
    """Hash of reading and captions."""
    video_key: Int64[np.ndarray, " captions"]
    caption_key: Int64[np.ndarray, " captions"]
    value: Float64[np.ndarray, " captions"]

    @cached_property
    def videos(self) -> Int64[np.ndarray, " videos"]:
        """The distinct video keys, ascending."""
        return np.unique(self.video_key)

    @cached_property
    def video_value(self) -> Float64[np.ndarray, " videos"]:
        """The mean over a video's distinct captions, in the order of `videos`."""
        place = np.searchsorted(self.videos, self.video_key)
        return np.bincount(place, self.value) / np.bincount(place)

    def of_captions(
        self, video_key: Int64[np.ndarray, " rows"], caption_key: Int64[np.ndarray, " rows"]
    ) -> Float64[np.ndarray, " rows"]:
        """The values of captions; NaN for pairs of video and caption outside the corpus."""
        wanted, held = _pairs(video_key, caption_key), _pairs(self.video_key, self.caption_key)
        place = np.searchsorted(held, wanted)
        return _found(held, wanted, place, self.value)

    def of_videos(self, video_key: Int64[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
        """The values of videos; NaN for videos outside the corpus."""
        return _found(self.videos, video_key, np.searchsorted(self.videos, video_key), self.video_value)

    def to_bytes(self) -> bytes:
        """The table as a Parquet file."""
        sink = io.BytesIO()
        columns = [pa.array(column) for column in (self.video_key, self.caption_key, self.value)]
        pq.write_table(pa.Table.from_arrays(columns, schema=_SCHEMA), sink, compression="zstd")
        return sink.getvalue()


def information_table(
    videos: Sequence[VideoCaptions], reading: Reading, cache: Location | None = None
) -> InformationTable:
    """The table of a corpus, from the cache or computed and cached.

    Captions are tokenised by `tokenise`. A damaged cache file is recomputed. Raises DatasetError for a video without
    captions, for a corpus without videos, and where the reading is undefined for all captions.
    """
    check_captioned(videos)
    corpus = fingerprint([_VERSION, reading, [[video.video_id, list(video.captions)] for video in videos]])
    place = None if cache is None else cache / f"information-{corpus}.parquet"
    found = None if place is None else _read(place, reading, corpus)
    if found is not None:
        return found
    table = _computed(videos, reading, corpus)
    if place is not None:
        with suppress(OSError, StorageError):  # without a cache the next run takes some seconds longer
            storage.write_bytes(place, table.to_bytes())
    return table


def cache_folder() -> Location:
    """The cache folder of this machine: $VTR_CACHE, or ~/.cache/vtr."""
    return locate(os.environ.get("VTR_CACHE") or Path.home() / ".cache" / "vtr")


def training_information(manifest: Manifest, reading: Reading, cache: Location | None = None) -> InformationTable:
    """The table of a data set's captions."""
    return information_table(list(video_captions(manifest)), reading, cache)


def check_captioned(videos: Iterable[VideoCaptions], where: str = "the corpus") -> None:
    """DatasetError for a video without captions, and where there are no videos."""
    count = 0
    for video in videos:
        count += 1
        if not video.captions:
            raise DatasetError(
                f"{where}: video {video.video_id} has no captions, and training needs some of every video; "
                "leave it out, or ingest it with its captions"
            )
    if not count:
        raise DatasetError(f"{where} holds no video; information content needs a corpus")


def _computed(videos: Sequence[VideoCaptions], reading: Reading, corpus: str) -> InformationTable:
    document = np.repeat(np.arange(len(videos)), [len(video.captions) for video in videos])
    texts = [caption for video in videos for caption in video.captions]
    value = information([tokenise(text) for text in texts], document, reading)
    video = np.array([video.video_key for video in videos], np.int64)[document]
    caption = np.array([caption_key(text) for text in texts], np.int64)
    _, first = np.unique(_pairs(video, caption), return_index=True)
    return InformationTable(reading, corpus, video[first], caption[first], value[first])


def _pairs(video: Int64[np.ndarray, " rows"], caption: Int64[np.ndarray, " rows"]) -> np.ndarray:
    """Pairs of keys as structured values that sort lexicographically."""
    pairs = np.empty(len(video), [("video", np.int64), ("caption", np.int64)])
    pairs["video"], pairs["caption"] = video, caption
    return pairs


def _found(
    held: np.ndarray, wanted: np.ndarray, place: np.ndarray, values: Float64[np.ndarray, " held"]
) -> Float64[np.ndarray, " rows"]:
    place = np.minimum(place, len(held) - 1)
    return np.where(held[place] == wanted, values[place], np.nan)


def _read(place: Location, reading: Reading, corpus: str) -> InformationTable | None:
    """The cached table; None where it is missing or incomplete."""
    try:
        table = pq.read_table(io.BytesIO(storage.read_bytes(place)), schema=_SCHEMA)
        columns = [table.column(name).to_numpy() for name in _SCHEMA.names]
        return InformationTable(reading, corpus, *columns)
    except (FileNotFoundError, pa.ArrowException, ValueError, TypeError, OSError):
        return None
