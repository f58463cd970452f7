"""CrossTask and MiningYouTube: videos with annotated steps of a task."""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.records.arrays import TimedLabel
from vtr_core.data.sources.features.second_features import SecondFeatures
from vtr_core.data.sources.files import BadLine, check_id, filled_lines, parse_srt, read_lines, read_table, read_text
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
        numbers, texts = zip(*filled[first : first + _BLOCK_LINES], strict=True)
        where = f"{location}, line {numbers[0]}"
        if len(texts) < _BLOCK_LINES:
            raise InputError(f"{where}: the last task needs id, title, URL, number of steps and steps")
        task_id, title, _, count, names = texts
        steps = tuple(step.strip() for step in names.split(","))
        if count != str(len(steps)) or not all(steps):
            raise InputError(
                f"{location}, line {numbers[3]}: the task {task_id} has {count!r} steps, but the line after names "
                f"{len(steps)}; a task is id, title, URL, number of steps and the steps separated by commas"
            )
        if task_id in tasks:
            raise InputError(f"{where}: the task {task_id} is there twice")
        tasks[task_id] = Task(task_id, title, steps)
    return tasks


def read_videos(location: Location, drops: Drops) -> Iterator[tuple[str, str]]:
    """(task id, video id) of every line `task,video,url`; repeated and broken lines are dropped and counted.

    Raises InputError where there is no such file.
    """
    listed = set()
    for number, line in enumerate(read_lines(location), start=1):
        row = _row(line)
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


def _row(line: str) -> list[str]:
    """The cells of a line of its own, so that a quote without its pair takes in no further lines."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a cell of 128 KiB or more
        return [line]


def read_segments(location: Location, task: Task, drops: Drops) -> list[TimedLabel]:
    """The segments of a file of lines `step,start,end`, steps from 1, times in seconds, sorted by time.

    Broken lines are dropped and counted. Raises UnusableError where the file is missing or no text.
    """
    segments = []
    for number, line in enumerate(read_text(location).splitlines(), start=1):
        row = _row(line)
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
        frames = self.frames(video_id, drops)
        return StepVideo(video.video_id, task.label, task.steps, task.step_labels, segments, frames)

    @property
    def _feature_ids(self) -> Sequence[str]:
        return [video_id for _, video_id in read_videos(locate(self.annotations) / self.videos_file, Drops())]

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        folder = locate(self.annotations)
        files = [folder / name for name in TASK_FILES if storage.exists(folder / name)]
        if not files:
            raise InputError(f"{folder} holds none of {', '.join(TASK_FILES)}; give the folder of the release")
        return {task_id: task for file in files for task_id, task in read_tasks(file).items()}


# The published dictionary holds stems; these are not words of the language, or another word, so no text would match.
_WORDS = {
    "asparagu": "asparagus",
    "blueberrie": "blueberry",
    "fill": "filling",
    "leave": "leaf",
    "season": "seasoning",
    "strawberrie": "strawberry",
    "topp": "topping",
}
_VERBS = {"pres": "press", "tos": "toss"}
_SPELLINGS = {
    "appy": "apply",
    "leaf": "leave",
    "omelet": "omelette",
    "omellete": "omelette",
    "sauté": "saute",
    "them": "it",
}
_ENDINGS = ("s", "es", "ing", "ed")


def class_of(phrase: str, classes: Iterable[str]) -> str | None:
    """The class of an annotated phrase, such as `crack_eggs` → `crack_egg`, or None where it has none.

    A class is a verb and one object. Of a phrase's first word and each later one in turn, the stems that make a class
    together are taken: the word itself, without a plural, -ing or -ed, and with the commonest slips mended. So
    `add_onions_green` is `add_onion`, and of two objects the first counts.
    """
    known = classes if isinstance(classes, frozenset | set | dict) else set(classes)
    verb, *objects = phrase.strip().lower().split("_")
    pairs = (f"{v}_{o}" for word in objects for v in _stems(verb) for o in _stems(word))
    return next((pair for pair in pairs if pair in known), None)


def class_text(name: str) -> str:
    """The text that describes a class: its verb and its object as words, `crack_egg` → `crack egg`.

    The dictionary's stems that are no words are written out: `toss`, `asparagus`, `topping`.
    """
    verb, _, noun = name.partition("_")
    return f"{_VERBS.get(verb, verb)} {_WORDS.get(noun, noun)}".strip()


def _stems(word: str) -> Iterator[str]:
    """The word, then what is left of it without endings, nearest first."""
    yield word
    if word in _SPELLINGS:
        yield _SPELLINGS[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            stem = word.removesuffix(ending)
            yield stem
            if ending in ("ing", "ed"):
                yield stem + "e"
                yield stem[:-1]
            elif stem.endswith("ing"):
                yield stem.removesuffix("ing")


DICTIONARY = "weakYouTube_dict.txt"
BACKGROUND = "background"


class MiningYouTube(SecondFeatures):
    """The steps of a video are the classes of its own segments, in the order of their starts (then of their ends).

    The paper's protocol gives the ordered actions of a video and asks where they are (Kuehne et al. 2019). A class that
    comes several times is as many steps of one label. Segments may overlap. A phrase is reduced to its class by
    `class_of`, and the class is described by `class_text`. The annotations do not tell a video's recipe: without
    `recipes` all videos are of one task, `all`.
    """

    name: ClassVar[str] = "mining_youtube"

    annotations: str
    """Folder of the release: annotations/<video id>.srt and weakYouTube_dict.txt, which lists the classes."""
    videos_file: str | None = None
    """A list of the video ids to take, one a line (default: every .srt file; the released list lacks one of them)."""
    recipes: str | None = None
    """A table with video_id and recipe, the task by which recall is averaged."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos sorted by id; `VideoEntry.content` is (task, segments)."""
        entries = []
        for video_id in self._feature_ids:
            try:
                check_id(video_id)
                task, segments = self._task(video_id), self._segments(video_id, drops)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{self.videos_file or self.annotations}: {fault}")
                continue
            if segments:
                entries.append(VideoEntry(video_id, (task, segments)))
            else:
                drops.drop(Reason.NO_STEPS, f"{self._file(video_id)} has no usable segment")
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The text of every step."""
        for video in videos:
            yield from (class_text(segment.label) for segment in video.content[1])

    def step_video(self, video: VideoEntry, drops: Drops) -> StepVideo | None:
        """The video with a step for each of its segments."""
        task, segments = video.content
        labels = [segment.label for segment in segments]
        frames = self.frames(video.video_id, drops)
        return StepVideo(video.video_id, task, [class_text(label) for label in labels], labels, segments, frames)

    def _segments(self, video_id: str, drops: Drops) -> list[TimedLabel]:
        """The usable segments of a video by start and end; others are dropped and counted, background is no step."""
        file = self._file(video_id)
        segments = []
        for entry in parse_srt(read_text(file)):
            where = f"{file}, line {entry.line}"
            if isinstance(entry, BadLine):
                drops.drop(Reason.BAD_LINE, f"{where}: {entry.fault}")
            elif entry.end <= entry.start:
                drops.drop(Reason.END_BEFORE_START, f"{where}: {entry.text} ends at {entry.end:g} s, when it starts")
            elif (label := class_of(entry.text, self._classes)) is not None:
                segments.append(TimedLabel(entry.start, entry.end, label))
            elif entry.text != BACKGROUND:
                drops.drop(Reason.UNKNOWN_STEP, f"{where}: {entry.text!r} belongs to no class of {DICTIONARY}")
        return sorted(segments, key=lambda segment: (segment.start, segment.end))

    def _file(self, video_id: str) -> Location:
        return locate(self.annotations) / "annotations" / f"{video_id}.srt"

    def _task(self, video_id: str) -> str:
        if self.recipes is None:
            return "all"
        if video_id not in self._recipes:
            raise UnusableError(Reason.UNKNOWN_VIDEO, f"{self.recipes} does not name the recipe of {video_id}")
        return self._recipes[video_id]

    @cached_property
    def _feature_ids(self) -> list[str]:
        if self.videos_file is not None:
            return sorted(set(filled_lines(locate(self.videos_file))))
        folder = locate(self.annotations) / "annotations"
        names = [file.name.removesuffix(".srt") for file in storage.children(folder) if file.name.endswith(".srt")]
        if not names:
            raise InputError(f"{folder} holds no .srt file; give --annotations the folder of the release")
        return sorted(names)

    @cached_property
    def _classes(self) -> frozenset[str]:
        return frozenset(filled_lines(locate(self.annotations) / DICTIONARY)) - {BACKGROUND}

    @cached_property
    def _recipes(self) -> dict[str, str]:
        assert self.recipes is not None
        rows = read_table(locate(self.recipes), ("video_id", "recipe"))
        return {row.required_id("video_id"): row.required_id("recipe") for row in rows}
