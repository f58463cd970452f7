"""Synthetic videos with small objects as a source: each video is generated when it is requested."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

from vtr_core.data.records.schema import CAPTION_VECTORS, FeatureSpec
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.data.sources.synthetic.clips import NARRATED_VIDEOS, split_entries
from vtr_core.data.worlds.tokens import SyntheticTokenSettings, TokenCamera, token_captions, token_content


class SyntheticTokens(SyntheticTokenSettings):
    """Videos `thing00000000`, … of [CLS] and patch tokens, with a vector for each caption."""

    name: ClassVar[str] = "synthetic_tokens"

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, a frame's tokens, and `text`, a caption's vector."""
        return FeatureSpec("video", (1 + self.grid**2) * self.dim), FeatureSpec(CAPTION_VECTORS, self.dim)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing here can be at fault)
        """All videos, see `split_entries`."""
        return split_entries([f"thing{index:08d}" for index in range(self.num_videos)], self.seed)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of the first `videos`, enough for every word of the world to be among them."""
        for video in videos[:NARRATED_VIDEOS]:
            yield from token_captions(self, video.content, token_content(self, video.content))

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:  # noqa: ARG002
        """The video whole."""
        content = token_content(self, video.content)
        features = {
            "video": self._camera.record(video.content, content),
            CAPTION_VECTORS: self._camera.texts(video.content, content),
        }
        return Video(video.video_id, token_captions(self, video.content, content), features)

    @cached_property
    def _camera(self) -> TokenCamera:
        return TokenCamera(self)
