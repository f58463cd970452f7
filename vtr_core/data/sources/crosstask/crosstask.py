"""CrossTask: instructional videos in which the steps of a wikiHow task are annotated."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.crosstask.release import Task, read_segments, read_tasks, read_videos
from vtr_core.data.sources.features.second_features import SecondFeatures
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, StepVideo, VideoEntry
from vtr_core.errors import InputError
from vtr_core.storage import locate

TASK_FILES = ("tasks_primary.txt", "tasks_related.txt")


class CrossTask(SecondFeatures):
    """A video's steps are all steps of its task, in the task's order; it may show some of them, several times or not.

    A step's text is its name, without the task's title. Feature files are named by video; a row's id is
    <task>_<video>, as its annotation file's.
    """

    name: ClassVar[str] = "crosstask"

    annotations: str
    """Folder of the release: tasks_primary.txt, tasks_related.txt, videos_val.csv, annotations/<task>_<video>.csv."""
    videos_file: str = "videos_val.csv"
    """The list of videos in that folder, lines of task,video,url."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and perhaps `audio`."""
        return self._specs

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos in the order of the list; `VideoEntry.content` is (task, video id)."""
        entries = []
        listed = locate(self.annotations) / self.videos_file
        for task_id, video_id in read_videos(listed, drops):
            if task_id not in self._tasks:
                what = f"{listed}: {video_id} is of the task {task_id}, which {' and '.join(TASK_FILES)} do not hold"
                drops.drop(Reason.UNKNOWN_STEP, what)
                continue
            name = f"{task_id}_{video_id}"
            try:
                check_id(name)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{listed}: {fault}")
            else:
                entries.append(VideoEntry(name, (self._tasks[task_id], video_id)))
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The steps of the tasks of `videos`."""
        tasks: dict[str, Task] = {video.content[0].task_id: video.content[0] for video in videos}
        for task in tasks.values():
            yield from task.steps

    def step_video(self, video: VideoEntry, drops: Drops) -> StepVideo | None:
        """The video; without its annotation file it is dropped and counted."""
        task, video_id = video.content
        file = locate(self.annotations) / "annotations" / f"{video.video_id}.csv"
        try:
            segments = read_segments(file, task, drops)
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault))
            return None
        frames = self.frames(video_id, self._specs, drops)
        return StepVideo(video.video_id, task.label, task.steps, task.step_labels, segments, frames)

    @cached_property
    def _specs(self) -> tuple[FeatureSpec, ...]:
        listed = read_videos(locate(self.annotations) / self.videos_file, Drops())
        return self.specs(video_id for _, video_id in listed)

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        folder = locate(self.annotations)
        files = [folder / name for name in TASK_FILES if storage.exists(folder / name)]
        if not files:
            raise InputError(f"{folder} holds none of {', '.join(TASK_FILES)}; give the folder of the release")
        return {task_id: task for file in files for task_id, task in read_tasks(file).items()}
