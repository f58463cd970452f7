"""The captions of a corpus by video, and their information content."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Any

import numpy as np
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
from vtr_core.fingerprint import key64
from vtr_core.storage import Location, locate
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
        case StepSchema() | ImageSchema():
            rows = "its texts name steps" if isinstance(manifest.schema, StepSchema) else "images without captions"
            raise SchemaMismatch(
                f"{manifest.uri} is {manifest.schema.label()}, {rows}; concepts are made from the captions of "
                f"{VideoSchema.label()} or {ClipSchema.label()}: give such a data set"
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
    content = storage.read_json(place) if uri.endswith(".json") else None
    if content is None and (splits(uri) or storage.exists(place / "manifest.json")):
        captioned = list(video_captions(Manifest.load(data_set(uri, "train"))))
    elif content is None or "sentences" in content:
        annotated = [video for video in read_msrvtt(uri, "official", Drops()) if video.split == "train"]
        captioned = [VideoCaptions.of(video.video_id, video.captions) for video in annotated]
    else:
        captioned = _of_mapping(_checked(content, place), place, videos)
    return [video for video in captioned if video.captions]


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


@dataclass(frozen=True)
class InformationTable:
    """The value of each distinct caption of each video, sorted by video key and caption key."""

    reading: Reading
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
        return _values_at(place, held, pairs, self.value)

    def of_videos(self, video_key: Int64[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
        """The values of videos; NaN for videos outside the corpus."""
        return _values_at(np.searchsorted(self.videos, video_key), self.videos, video_key, self.video_value)


def information_table(videos: Sequence[VideoCaptions], reading: Reading, version: int = CUT) -> InformationTable:
    """The table of a corpus, whose captions are tokenised by `tokenise` of this version.

    Raises DatasetError for a video without captions, for a corpus without videos, and where the reading is undefined
    for all captions.
    """
    check_captioned(videos)
    document = np.repeat(np.arange(len(videos)), [len(video.captions) for video in videos])
    texts = [caption for video in videos for caption in video.captions]
    value = information([tokenise(text, version) for text in texts], document, reading)
    video = np.array([video.video_key for video in videos], np.int64)[document]
    caption = np.array([key for video in videos for key in video.keys], np.int64)
    _, first = np.unique(_pairs(video, caption), return_index=True)
    return InformationTable(reading, video[first], caption[first], value[first])


def training_information(manifest: Manifest, reading: Reading) -> InformationTable:
    """The table of a data set's captions, cut as its vocabulary was made."""
    return information_table(list(video_captions(manifest)), reading, WordTable.load(manifest).vocabulary.version)


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


def _pairs(video: Int64[np.ndarray, " rows"], caption: Int64[np.ndarray, " rows"]) -> np.ndarray:
    """Pairs of keys as structured values that sort lexicographically."""
    pairs = np.empty(len(video), [("video", np.int64), ("caption", np.int64)])
    pairs["video"], pairs["caption"] = video, caption
    return pairs


def _values_at(
    place: np.ndarray, held: np.ndarray, keys: np.ndarray, values: Float64[np.ndarray, " held"]
) -> Float64[np.ndarray, " rows"]:
    """The values of `keys` that are in `held`, where `searchsorted` places them; NaN for others."""
    place = np.minimum(place, len(held) - 1)
    return np.where(held[place] == keys, values[place], np.nan)
