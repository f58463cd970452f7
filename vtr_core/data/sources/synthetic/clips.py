"""Synthetic narrated videos as a source: each video is generated when it is requested."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from vtr_core.data.plan.split import assign_splits
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.data.worlds.clips import SyntheticSettings, captions, clip_id, truth, video_id
from vtr_core.data.worlds.features import Recorder

NARRATED_VIDEOS = 20_000
"""Number of videos whose captions define the vocabulary, enough for all words to occur."""

FRACTIONS = {"train": 0.8, "val": 0.1, "test": 0.1}


def split_entries(video_ids: Sequence[str], seed: int) -> list[VideoEntry]:
    """An entry for each video, its content the position in `video_ids`; about 80 % train, 10 % val and 10 % test."""
    splits = assign_splits(video_ids, FRACTIONS, seed)
    return [VideoEntry(video, index, splits[video]) for index, video in enumerate(video_ids)]


class Synthetic(SyntheticSettings):
    """Videos `syn00000000`, …; `VideoEntry.content` is the video's index."""

    name: ClassVar[str] = "synthetic"

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` (both visual streams) and `audio`."""
        return FeatureSpec("video", self.dim_2d + self.dim_3d), FeatureSpec("audio", self.dim_audio)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing here can be at fault)
        """All videos, see `split_entries`."""
        return split_entries([video_id(index) for index in range(self.num_videos)], self.seed)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The narrations of the first `videos`, enough for every word of the world to be among them."""
        for video in videos[:NARRATED_VIDEOS]:
            yield from captions(self, video.content, truth(self, video.content))

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:  # noqa: ARG002
        """The clips of a video in order of time."""
        content = truth(self, video.content)
        texts = captions(self, video.content, content)
        recorded = self._recorder.record(video.content, content)
        for clip, (text, features) in enumerate(zip(texts, recorded, strict=True)):
            start, end = float(content.start[clip]), float(content.end[clip])
            yield Clip(clip_id(video.content, clip), start, end, text, features)

    @cached_property
    def _recorder(self) -> Recorder:
        return Recorder(self)
