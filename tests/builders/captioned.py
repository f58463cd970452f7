"""Data sets of given captions, whole videos or clips, made without Ray."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import Clip, Drops, Video, VideoEntry


@dataclass(frozen=True)
class CaptionedVideos:
    """One frame per video, and the captions given for it."""

    captions_of: Mapping[str, Sequence[str]]
    name: ClassVar[str] = "captioned"

    def settings(self) -> dict[str, Any]:
        return {"captions_of": {name: list(captions) for name, captions in self.captions_of.items()}}

    def features(self) -> tuple[FeatureSpec, ...]:
        return (FeatureSpec("video", 2),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(name, list(captions)) for name, captions in self.captions_of.items()]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield from video.content

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        return Video(video.video_id, video.content, {"video": np.ones((1, 2), np.float16)})


class CaptionedClips(CaptionedVideos):
    """The same as clips: two captions of a video share a clip, the next two the next one."""

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        for number, caption in enumerate(video.content):
            clip = number // 2
            yield Clip(f"{video.video_id}:{clip}", float(clip), clip + 1.0, caption, {"video": np.ones(2, np.float16)})


def captioned_videos(folder: Path, captions_of: Mapping[str, Sequence[str]]) -> Manifest:
    return written(CaptionedVideos(captions_of), folder, IngestOptions(videos_per_shard=2))[0]


def captioned_clips(folder: Path, captions_of: Mapping[str, Sequence[str]]) -> Manifest:
    return written(CaptionedClips(captions_of), folder, IngestOptions(videos_per_shard=2))[0]
