"""The files of CrossTask's release: tasks with their ordered steps, the videos of a split, and where the steps are."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass

from vtr_core.data.records.timed_label import TimedLabel
from vtr_core.data.sources.files.annotation_text import read_text
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError
from vtr_core.storage import Location

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
    try:
        lines = list(enumerate(read_text(location).splitlines(), start=1))
    except UnusableError as fault:
        raise InputError(str(fault)) from fault
    filled = [(number, line.strip()) for number, line in lines if line.strip()]
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
    try:
        rows = list(csv.reader(read_text(location).splitlines()))
    except UnusableError as fault:
        raise InputError(str(fault)) from fault
    seen = set()
    for number, row in enumerate(rows, start=1):
        cells = tuple(cell.strip() for cell in row[:2])
        if not any(cells):
            continue
        if len(cells) < 2 or not all(cells):
            drops.drop(Reason.BAD_LINE, f"{location}, line {number}: {','.join(row)!r} is not task,video,url")
        elif cells in seen:
            drops.drop(Reason.DUPLICATE_ID, f"{location}, line {number}: the same task and video again")
        else:
            seen.add(cells)
            yield cells[0], cells[1]


def read_segments(location: Location, task: Task, drops: Drops) -> list[TimedLabel]:
    """The segments of a file of lines `step,start,end`, steps from 1, times in seconds, sorted by time.

    Broken lines are dropped and counted. Raises UnusableError where the file is missing or no text.
    """
    found = []
    for number, row in enumerate(csv.reader(read_text(location).splitlines()), start=1):
        if not any(cell.strip() for cell in row):
            continue
        try:
            found.append(_segment(row, task))
        except UnusableError as fault:
            drops.drop(fault.reason, f"{location}, line {number}: {fault}")
    return sorted(found, key=lambda segment: (segment.start, segment.end))


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
