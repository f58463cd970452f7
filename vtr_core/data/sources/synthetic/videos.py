"""Synthetic described videos as a source: each video is generated when it is requested."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.data.sources.synthetic.clips import NARRATED_VIDEOS, split_entries
from vtr_core.data.worlds.frames import Camera
from vtr_core.data.worlds.videos import SyntheticVideoSettings, descriptions, video_content


class SyntheticVideos(SyntheticVideoSettings):
    """Videos `scene00000000`, … with frames and several captions each; `VideoEntry.content` is the video's index."""

    name: ClassVar[str] = "synthetic"

    def settings(self) -> dict[str, Any]:
        """The world's settings, all of which change its content."""
        return {"records": "videos", **self.model_dump(mode="json")}

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, per frame."""
        return (FeatureSpec("video", self.dim),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing here can be at fault)
        """All videos, see `split_entries`."""
        return split_entries([f"scene{index:08d}" for index in range(self.num_videos)], self.seed)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of the first `videos`, enough for every word of the world to be among them."""
        for video in videos[:NARRATED_VIDEOS]:
            yield from descriptions(self, video.content, video_content(self, video.content))

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:  # noqa: ARG002
        """The video whole."""
        content = video_content(self, video.content)
        frames = self._camera.record(video.content, content)
        return Video(video.video_id, descriptions(self, video.content, content), {"video": frames})

    @cached_property
    def _camera(self) -> Camera:
        return Camera(self)
