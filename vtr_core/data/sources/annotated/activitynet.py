"""ActivityNet Captions (Krishna et al. 2017): a paragraph of each video's sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from vtr_core import storage
from vtr_core.data.sources.annotated.annotated_videos import AnnotatedClips, AnnotatedFrames, AnnotatedListing
from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import AnnotatedVideo, Drops, paragraph
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

TestFile = Literal["val_1", "val_2"]
_PREFIX = "v_"


def read_activitynet(folder: str, drops: Drops, test: TestFile = "val_1") -> Iterator[AnnotatedVideo]:
    """The videos of `train.json`, and those of `val_1.json` as the split `test`, where they are there.

    A file is an object of videos (`v_` and YouTube's id), each with `sentences` and `duration` in seconds; a paragraph
    is all sentences in their order, whose `timestamps` are not needed. val_1 has 4,917 videos and is what CLIP4Clip
    tests; `val_2` describes the same videos again, by others. Files of a video may be called with or without `v_`. A
    video of both splits is dropped from the second. InputError for a folder without these files, and other forms.
    """
    place = locate(folder)
    files = {"train": place / "train.json", "test": place / f"{test}.json"}
    present = {split: file for split, file in files.items() if storage.exists(file)}
    if not present:
        raise InputError(f"there are no ActivityNet Captions at {place}; give the folder of train.json and {test}.json")
    seen: dict[str, str] = {}
    for split, file in present.items():
        for video_id, described in _videos(file).items():
            where = f"{file}, {video_id}"
            if seen.setdefault(video_id, split) != split:
                drops.drop(Reason.SPLIT_CONFLICT, f"{where}: it is in the split {seen[video_id]} already")
                continue
            text = paragraph(described["sentences"], where, drops)
            yield AnnotatedVideo(video_id, split, _seconds(described, where), text, (video_id.removeprefix(_PREFIX),))


def _videos(file: Location) -> Mapping[str, Mapping[str, Any]]:
    content = storage.read_json(file)
    if not isinstance(content, dict):
        raise InputError(f"{file} is no JSON object of videos; give ActivityNet Captions in their published form")
    for video_id, described in content.items():
        if not isinstance(described, dict) or not isinstance(described.get("sentences"), list):
            raise InputError(f"{file}: {video_id} has no list of sentences; it needs sentences and duration")
    return content


def _seconds(described: Mapping[str, Any], where: str) -> float:
    duration = described.get("duration")
    if isinstance(duration, int | float) and 0 <= duration < math.inf:
        return float(duration)
    raise InputError(f"{where}: the duration is {duration!r}; it must be a number of seconds from 0 on")


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "activitynet"

    annotations: str
    """Folder of train.json and val_1.json: 10,009 / 4,917 videos, each with one paragraph; val_1 becomes the split
    test."""
    test: TestFile = "val_1"
    """Annotations of the test videos: val_1, which CLIP4Clip tests, or val_2, other people's of the same videos."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_activitynet(self.annotations, drops, self.test))


class ActivityNet(_Annotations, AnnotatedClips):
    """Clips of ActivityNet Captions."""


class ActivityNetVideos(_Annotations, AnnotatedFrames):
    """Whole videos of ActivityNet Captions."""
