"""CrossTask: instructional videos in which the steps of a wikiHow task are annotated."""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.records.annotations import TimedLabel
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.second_features import SecondFeatures
from vtr_core.data.sources.files import check_id, read_lines, read_text
from vtr_core.data.sources.source import Drops, StepVideo, VideoEntry
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

_BLOCK_LINES = 5


@dataclass(frozen=True)
class Task:
    """A task of wikiHow and its steps in order."""

    task_id: str
    title: str
    steps: tuple[str, ...]

    @property
    def label(self) -> str:
        """Id and title; no two tasks share it."""
        return f"{self.task_id} {self.title}"

    @property
    def step_labels(self) -> tuple[str, ...]:
        """The steps by their numbers from 1 on, as the annotations name them; two of one text are two steps."""
        return tuple(str(step) for step in range(1, len(self.steps) + 1))


def read_tasks(location: Location) -> dict[str, Task]:
    """The tasks of a file by id: blocks of id, title, URL, number of steps and comma-separated steps.

    Raises InputError, naming the line, for a malformed block, which would shift all following ones.
    """
    filled = [(number, line.strip()) for number, line in enumerate(read_lines(location), start=1) if line.strip()]
    tasks: dict[str, Task] = {}
    for first in range(0, len(filled), _BLOCK_LINES):
        number, task = _task(location, filled[first : first + _BLOCK_LINES])
        if task.task_id in tasks:
            raise InputError(f"{location}, line {number}: the task {task.task_id} is there twice")
        tasks[task.task_id] = task
    return tasks


def _task(location: Location, block: list[tuple[int, str]]) -> tuple[int, Task]:
    number = block[0][0]
    texts = [text for _, text in block]
    if len(texts) < _BLOCK_LINES:
        raise InputError(f"{location}, line {number}: the last task needs id, title, URL, number of steps and steps")
    task_id, title, _, count, names = texts
    steps = tuple(step.strip() for step in names.split(","))
    if count != str(len(steps)) or not all(steps):
        raise InputError(
            f"{location}, line {block[3][0]}: the task {task_id} has {count!r} steps, but the line after names "
            f"{len(steps)}; a task is id, title, URL, number of steps and the steps separated by commas"
        )
    return number, Task(task_id, title, steps)


def read_videos(location: Location, drops: Drops) -> Iterator[tuple[str, str]]:
    """(task id, video id) of every line `task,video,url`; repeated and broken lines are dropped and counted.

    Raises InputError where there is no such file.
    """
    listed = set()
    for number, row in enumerate(csv.reader(read_lines(location)), start=1):
        cells = tuple(cell.strip() for cell in row[:2])
        if not any(cells):
            continue
        if len(cells) < 2 or not all(cells):
            drops.drop(Reason.BAD_LINE, f"{location}, line {number}: {','.join(row)!r} is not task,video,url")
        elif cells in listed:
            drops.drop(Reason.DUPLICATE_ID, f"{location}, line {number}: the same task and video again")
        else:
            listed.add(cells)
            yield cells[0], cells[1]


def read_segments(location: Location, task: Task, drops: Drops) -> list[TimedLabel]:
    """The segments of a file of lines `step,start,end`, steps from 1, times in seconds, sorted by time.

    Broken lines are dropped and counted. Raises UnusableError where the file is missing or no text.
    """
    segments = []
    for number, row in enumerate(csv.reader(read_text(location).splitlines()), start=1):
        if not any(cell.strip() for cell in row):
            continue
        try:
            segments.append(_segment(row, task))
        except UnusableError as fault:
            drops.drop(fault.reason, f"{location}, line {number}: {fault}")
    return sorted(segments, key=lambda segment: (segment.start, segment.end))


def _segment(row: list[str], task: Task) -> TimedLabel:
    try:
        step, start, end = (float(cell) for cell in row)
    except ValueError as error:
        raise UnusableError(Reason.BAD_LINE, f"{','.join(row)!r} is not step,start,end") from error
    if not step.is_integer() or not 1 <= step <= len(task.steps):
        raise UnusableError(Reason.UNKNOWN_STEP, f"step {row[0]} is none of the {len(task.steps)} of {task.label}")
    if not (0 <= start < math.inf and 0 <= end < math.inf):
        raise UnusableError(Reason.BAD_TIME, f"from {row[1]} to {row[2]}: times must be seconds from 0 on")
    if end <= start:
        raise UnusableError(Reason.END_BEFORE_START, f"from {row[1]} to {row[2]}: the end must come after the start")
    return TimedLabel(start, end, str(int(step)))


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
                message = f"{listed}: {video_id} is of the task {task_id}, which {' and '.join(TASK_FILES)} do not hold"
                drops.drop(Reason.UNKNOWN_STEP, message)
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
