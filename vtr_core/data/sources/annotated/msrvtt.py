"""MSR-VTT: videos and captions of the annotation files as distributed, and the two usual splits."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from vtr_core import storage
from vtr_core.data.sources.annotated.annotated_videos import AnnotatedClips, AnnotatedFrames, AnnotatedListing
from vtr_core.data.sources.files import read_table
from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import AnnotatedVideo, Drops
from vtr_core.errors import ConfigError, InputError
from vtr_core.storage import Location, locate

FILES = ("train_val_videodatainfo.json", "test_videodatainfo.json")
TRAIN_9K, TEST_1K = "MSRVTT_train.9k.csv", "MSRVTT_JSFUSION_test.csv"
SPLITS = {"train": "train", "validate": "val", "test": "test"}


def read_annotations(uri: str, split: Literal["official", "1k-a"], drops: Drops) -> Sequence[AnnotatedVideo]:
    """The videos of the annotation file or folder at `uri`, each once, under the given split.

    "1k-a" takes 9,000 videos with all captions for training, and 1,000 with the one given sentence each for the test.
    Raises InputError for missing files or keys.
    """
    location = locate(uri)
    single = location.name.endswith(".json")
    files = [location] if single else [location / name for name in FILES if storage.exists(location / name)]
    if not files or not storage.exists(files[0]):
        raise InputError(f"there are no MSR-VTT annotations at {location}; give the folder of {' and '.join(FILES)}")
    videos: dict[str, AnnotatedVideo] = {}
    for file in files:
        for video in _read_file(file, drops):
            if videos.setdefault(video.video_id, video) is not video:
                drops.drop(Reason.DUPLICATE_ID, f"{file}: {video.video_id} is listed twice")
    if split == "official":
        return list(videos.values())
    if single:
        raise ConfigError(f"the split 1k-a needs the folder with {TRAIN_9K} and {TEST_1K}, not the file {location}")
    return list(_split_1ka(location, videos, drops))


def _read_file(file: Location, drops: Drops) -> Iterator[AnnotatedVideo]:
    content = storage.read_json(file)
    captions: dict[str, list[str]] = {}
    for sentence in _records(content, "sentences", ("video_id", "caption"), file):
        captions.setdefault(str(sentence["video_id"]), []).append(str(sentence["caption"]))
    for video in _records(content, "videos", ("video_id", "split", "start time", "end time"), file):
        video_id = str(video["video_id"])
        if not isinstance(video["split"], str) or video["split"] not in SPLITS:
            raise InputError(f"{file}: {video_id} has the split {video['split']!r}; allowed are {', '.join(SPLITS)}")
        yield AnnotatedVideo(
            video_id, SPLITS[video["split"]], _duration(video, file), tuple(captions.pop(video_id, ()))
        )
    for video_id, texts in captions.items():
        drops.drop(Reason.UNKNOWN_VIDEO, f"{file}: sentences of {video_id}, which is not among its videos", len(texts))


def _records(content: Any, key: str, needed: Sequence[str], file: Location) -> Sequence[Mapping[str, Any]]:
    """The list of objects under `key`, each with the `needed` keys."""
    records = content.get(key) if isinstance(content, dict) else None
    if not isinstance(records, list):
        found = ", ".join(content) if isinstance(content, dict) else type(content).__name__
        raise InputError(f"{file} has {found or 'nothing'}; it needs the lists videos and sentences")
    for number, record in enumerate(records):
        missing = [name for name in needed if not isinstance(record, dict) or name not in record]
        if missing:
            raise InputError(f"{file}: {key}[{number}] lacks {', '.join(missing)}; it needs {', '.join(needed)}")
    return records


def _duration(video: Mapping[str, Any], file: Location) -> float:
    try:
        start, end = float(video["start time"]), float(video["end time"])
    except (TypeError, ValueError, OverflowError):
        start = end = math.nan
    if not 0 <= start <= end < math.inf:
        raise InputError(f"{file}: {video['video_id']} has times that are not ordered numbers of seconds from 0 on")
    return round(end - start, 3)


def _split_1ka(folder: Location, videos: Mapping[str, AnnotatedVideo], drops: Drops) -> Iterator[AnnotatedVideo]:
    for row in read_table(folder / TRAIN_9K, ("video_id",)):
        if row["video_id"] in videos:
            yield replace(videos[row["video_id"]], split="train")
        else:
            drops.drop(
                Reason.UNKNOWN_VIDEO, f"{folder / TRAIN_9K}: {row['video_id']} is not among the annotated videos"
            )
    for row in read_table(folder / TEST_1K, ("video_id", "sentence")):
        known = videos.get(row["video_id"])
        yield AnnotatedVideo(row["video_id"], "test", known.duration if known else 0.0, (row["sentence"],))


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    split: Literal["official", "1k-a"] = "official"
    """official: 6,513 / 497 / 2,990 videos with 20 captions each, as in the annotation files. 1k-a: MSRVTT_train.9k.csv
    and MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return read_annotations(self.annotations, self.split, drops)


class Msrvtt(_Annotations, AnnotatedClips):
    """Clips of MSR-VTT."""


class MsrvttVideos(_Annotations, AnnotatedFrames):
    """Whole videos of MSR-VTT."""
