"""Synthetic tasks with ordered steps as a source: each video is generated when it is requested."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float16

from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.records.timed_label import TimedLabel
from vtr_core.data.sources.source import Drops, StepVideo, VideoEntry
from vtr_core.data.worlds.features import Recorder
from vtr_core.data.worlds.steps import (
    FIRST_VIDEO,
    SyntheticStepSettings,
    SyntheticStepVideo,
    synthetic_step_video,
    synthetic_task,
)


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
