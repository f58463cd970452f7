"""Synthetic clips, videos, tokens and steps as sources: a video is generated when it is requested."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float16

from vtr_core.data.plan import assign_splits
from vtr_core.data.records.arrays import TimedLabel
from vtr_core.data.records.schema import CAPTION_VECTORS, FeatureSpec
from vtr_core.data.sources.source import Clip, Drops, StepVideo, Video, VideoEntry
from vtr_core.data.worlds.described_videos import Camera, SyntheticVideoSettings, descriptions, video_content
from vtr_core.data.worlds.narrated_videos import Recorder, SyntheticSettings, captions, clip_id, truth, video_id
from vtr_core.data.worlds.patch_tokens import SyntheticTokenSettings, TokenCamera, token_captions, token_content
from vtr_core.data.worlds.step_tasks import (
    FIRST_VIDEO,
    SyntheticStepSettings,
    SyntheticStepVideo,
    synthetic_step_video,
    synthetic_task,
)

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


class SyntheticSteps(SyntheticStepSettings):
    """Videos `task000_00`, …; `VideoEntry.content` is (task, video). Made for a model of the same world's clips.

    Give it the seed, dimensions and concepts of that world: with others its features mean nothing to the model.
    """

    name: ClassVar[str] = "synthetic_steps"

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` (both visual streams) and `audio`."""
        return FeatureSpec("video", self.dim_2d + self.dim_3d), FeatureSpec("audio", self.dim_audio)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing here can be at fault)
        """All videos of all tasks."""
        pairs = [(task, video) for task in range(self.num_tasks) for video in range(self.videos_per_task)]
        return [VideoEntry(f"{_task_name(task)}_{video:02d}", (task, video)) for task, video in pairs]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The steps of the tasks of `videos`."""
        for task in sorted({video.content[0] for video in videos}):
            yield from synthetic_task(self, task).steps

    def step_video(self, video: VideoEntry, drops: Drops) -> StepVideo | None:  # noqa: ARG002
        """The video; labels are the steps' numbers from 1 on. Its audio lacks in videos, not in single seconds."""
        task, index = video.content
        steps = synthetic_task(self, task).steps
        made = synthetic_step_video(self, task, index)
        segments = [TimedLabel(float(first), float(end), str(step + 1)) for step, first, end in made.spans]
        labels = [str(step) for step in range(1, len(steps) + 1)]
        features = self._record(task * self.videos_per_task + index, made)
        return StepVideo(video.video_id, _task_name(task), steps, labels, segments, features)

    def _record(self, video: int, made: SyntheticStepVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        audible = self._audible.record(FIRST_VIDEO + video, made.content)
        heard = np.random.default_rng((self.seed, FIRST_VIDEO + video)).random() >= self.missing_audio
        names = ["video", "audio"] if heard else ["video"]
        return {name: np.stack([second[name] for second in audible]) for name in names}

    @cached_property
    def _audible(self) -> Recorder:
        """The world's sensors with sound in every second."""
        return Recorder(self.model_copy(update={"missing_audio": 0.0}))


def _task_name(task: int) -> str:
    return f"task{task:03d}"
