"""The captions of a corpus by video, and their information content."""

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float64, Int64

from vtr_core import storage
from vtr_core.config.losses import Reading
from vtr_core.data.manifest import Manifest, data_set, splits
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import ClipSchema, FrameSchema, ImageSchema, StepSchema, VideoSchema
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.files import filled_lines, text_of
from vtr_core.data.sources.published_captions import read_msrvtt
from vtr_core.data.sources.source import Drops
from vtr_core.errors import ConfigError, DatasetError, InputError, SchemaMismatch
from vtr_core.fingerprint import fingerprint, key64
from vtr_core.storage import Location, StorageError, locate
from vtr_core.text.statistics import information
from vtr_core.text.tokens.vocabulary import CUT, tokenise


@dataclass(frozen=True)
class VideoCaptions:
    """A video and its captions, in the order of the data set."""

    video_id: str
    video_key: int
    captions: tuple[str, ...]
    keys: tuple[int, ...]
    """`caption_key` of each, as the data set has it; an older one may have another."""

    @classmethod
    def of(cls, video_id: str, captions: Sequence[str]) -> "VideoCaptions":
        """A video of no data set."""
        return cls(video_id, key64(video_id), tuple(captions), tuple(map(caption_key, captions)))


def video_captions(manifest: Manifest) -> Iterator[VideoCaptions]:
    """The videos of a `videos`, `clips` or `frames` data set in file order, with the captions of all their clips.

    Raises SchemaMismatch for another record kind, DamagedShard for a file that cannot be read.
    """
    match manifest.schema:
        case VideoSchema() | FrameSchema():
            return _adjacent_rows(manifest, "captions", "caption_keys")
        case ClipSchema():
            return _adjacent_rows(manifest, "caption", "caption_key")
        case StepSchema():
            raise SchemaMismatch(
                f"{manifest.uri} is {manifest.schema.label()}, its texts name steps; concepts are made from the "
                f"captions of {VideoSchema.label()} or {ClipSchema.label()}: give such a data set"
            )
        case ImageSchema():
            raise SchemaMismatch(
                f"{manifest.uri} is {manifest.schema.label()}, images without captions; concepts are made from the "
                f"captions of {VideoSchema.label()} or {ClipSchema.label()}: give such a data set"
            )


def _adjacent_rows(manifest: Manifest, *texts: str) -> Iterator[VideoCaptions]:
    """The captions of each video's rows, which are adjacent and in one row group; a row has one, or a list.

    texts: the columns of captions and of their keys.
    """
    reader = RowGroupReader(manifest, ["video_id", "video_key", *texts])
    for place in row_groups(manifest):
        columns = reader.read_arrow(place)
        rows = zip(*(columns[name].to_pylist() for name in reader.columns), strict=True)
        for (video_id, key), own in groupby(rows, lambda row: row[:2]):
            captions, keys = ([*cells] for cells in zip(*(row[2:] for row in own), strict=True))
            if isinstance(manifest.schema, VideoSchema | FrameSchema):
                captions, keys = list(chain(*captions)), list(chain(*keys))
            yield VideoCaptions(video_id, key, tuple(captions), tuple(keys))


ALL = "all"
"""Stands for a list of videos: all videos of the file are training videos."""


def training_captions(uri: str, videos: str | None = None) -> list[VideoCaptions]:
    """The videos with captions of the training split at `uri`, with their captions.

    uri: a folder of splits, with `train` or a single one; a data set, used as a whole; MSR-VTT's annotations, file or
    folder, for the official training split; or a JSON file {video: [caption, …]}, whose training videos are given by
    `videos`: a text file with an id at the start of each line, or "all". Raises ConfigError where `videos` is required
    and missing, DatasetError for several splits without `train`, InputError for a file of another format or an unknown
    id.
    """
    place = locate(uri)
    if not uri.endswith(".json") and (splits(uri) or storage.exists(place / "manifest.json")):
        return _with_captions(list(video_captions(Manifest.load(data_set(uri, "train")))))
    content = storage.read_json(place) if uri.endswith(".json") else {}
    if not uri.endswith(".json") or "sentences" in content:
        annotated = [video for video in read_msrvtt(uri, "official", Drops()) if video.split == "train"]
        return _with_captions([VideoCaptions.of(video.video_id, video.captions) for video in annotated])
    return _with_captions(_of_mapping(_checked(content, place), place, videos))


def _with_captions(videos: list[VideoCaptions]) -> list[VideoCaptions]:
    return [video for video in videos if video.captions]


def _of_mapping(content: Mapping[str, list[str]], place: Location, videos: str | None) -> list[VideoCaptions]:
    if videos is None:
        raise ConfigError(
            f"{place} does not say which videos are for training; give their list with --videos FILE, or --videos all"
        )
    chosen = list(content) if videos == ALL else [line.split()[0] for line in filled_lines(locate(videos))]
    unknown = [name for name in chosen if name not in content]
    if unknown:
        raise InputError(
            f"{videos} lists {len(unknown)} videos that {place} does not hold, the first is {unknown[0]!r}"
        )
    return [VideoCaptions.of(name, content[name]) for name in dict.fromkeys(chosen)]


def _checked(content: Any, place: Location) -> Mapping[str, list[str]]:
    if not isinstance(content, dict) or not all(isinstance(texts, list) for texts in content.values()):
        raise InputError(f'{place} must be {{"video": ["caption", …], …}}, or MSR-VTT\'s lists of videos and sentences')
    return {
        video: [caption for text in texts if (caption := text_of(text, f"{place}, {video}"))]
        for video, texts in content.items()
    }


_VERSION = 2
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
        pairs, held = _pairs(video_key, caption_key), _pairs(self.video_key, self.caption_key)
        place = np.searchsorted(held, pairs)
        return _found(held, pairs, place, self.value)

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
    videos: Sequence[VideoCaptions], reading: Reading, cache: Location | None = None, version: int = CUT
) -> InformationTable:
    """The table of a corpus, from the cache or computed and cached.

    Captions are tokenised by `tokenise` of this version. A damaged cache file is recomputed. Raises DatasetError for a
    video without captions, for a corpus without videos, and where the reading is undefined for all captions.
    """
    check_captioned(videos)
    content = [[video.video_id, list(video.captions), list(video.keys)] for video in videos]
    corpus = fingerprint([_VERSION, version, reading, content])
    place = None if cache is None else cache / f"information-{corpus}.parquet"
    cached = None if place is None else _read(place, reading, corpus)
    if cached is not None:
        return cached
    table = _computed(videos, reading, corpus, version)
    if place is not None:
        with suppress(OSError, StorageError):  # without a cache the next run takes some seconds longer
            storage.write_bytes(place, table.to_bytes())
    return table


def cache_folder() -> Location | None:
    """The cache folder of this machine: $VTR_CACHE, or ~/.cache/vtr; None for a user without a home."""
    home = os.path.expanduser("~")
    folder = os.environ.get("VTR_CACHE") or (None if home == "~" else f"{home}/.cache/vtr")
    return None if folder is None else locate(folder)


def training_information(manifest: Manifest, reading: Reading, cache: Location | None = None) -> InformationTable:
    """The table of a data set's captions, cut as its vocabulary was made."""
    version = WordTable.load(manifest).vocabulary.version
    return information_table(list(video_captions(manifest)), reading, cache, version)


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


def _computed(videos: Sequence[VideoCaptions], reading: Reading, corpus: str, version: int) -> InformationTable:
    document = np.repeat(np.arange(len(videos)), [len(video.captions) for video in videos])
    texts = [caption for video in videos for caption in video.captions]
    value = information([tokenise(text, version) for text in texts], document, reading)
    video = np.array([video.video_key for video in videos], np.int64)[document]
    caption = np.array([key for video in videos for key in video.keys], np.int64)
    _, first = np.unique(_pairs(video, caption), return_index=True)
    return InformationTable(reading, corpus, video[first], caption[first], value[first])


def _pairs(video: Int64[np.ndarray, " rows"], caption: Int64[np.ndarray, " rows"]) -> np.ndarray:
    """Pairs of keys as structured values that sort lexicographically."""
    pairs = np.empty(len(video), [("video", np.int64), ("caption", np.int64)])
    pairs["video"], pairs["caption"] = video, caption
    return pairs


def _found(
    held: np.ndarray, keys: np.ndarray, place: np.ndarray, values: Float64[np.ndarray, " held"]
) -> Float64[np.ndarray, " rows"]:
    place = np.minimum(place, len(held) - 1)
    return np.where(held[place] == keys, values[place], np.nan)


def _read(place: Location, reading: Reading, corpus: str) -> InformationTable | None:
    """The cached table; None where it is missing or incomplete."""
    try:
        table = pq.read_table(io.BytesIO(storage.read_bytes(place)), schema=_SCHEMA)
        columns = [table.column(name).to_numpy() for name in _SCHEMA.names]
        return InformationTable(reading, corpus, *columns)
    except (FileNotFoundError, pa.ArrowException, ValueError, TypeError, OSError):
        return None
