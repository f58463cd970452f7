"""Synthetic tasks with ordered steps, and videos of them, second by second."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from pydantic import Field, PositiveInt, model_validator

from vtr_core.data.worlds.narrated_videos import (
    ACTION,
    AGENT,
    OBJECT,
    PLACE,
    SLOTS,
    TOOL,
    SyntheticSettings,
    Truth,
    names,
    narrate,
)

TASKS, STEP_VIDEOS = 100, 101
"""Purposes of random streams, in addition to those of clips."""

FIRST_VIDEO = 1 << 40
"""Offset of video indices for noise and style, so that they differ from those of all clips."""


class SyntheticStepSettings(SyntheticSettings):
    """As for clips (`num_clips`, `mention`, `misalignment` and the number of clips have no effect here)."""

    num_tasks: PositiveInt = 12
    """Number of tasks."""
    min_steps: PositiveInt = 3
    """Minimum number of steps of a task."""
    max_steps: PositiveInt = 8
    """Maximum number of steps of a task."""
    videos_per_task: PositiveInt = 10
    """Number of videos of every task."""
    step_seconds: PositiveInt = 12
    """Maximum duration of a step in seconds; the minimum is a third of it."""
    background_seconds: PositiveInt = 30
    """Maximum number of seconds before, between and after steps; the minimum is 0."""
    missing_step: float = Field(default=0.1, ge=0, lt=1)
    """Probability that a video omits a step; at least one step stays."""

    @model_validator(mode="after")
    def _check_steps(self) -> "SyntheticStepSettings":
        if self.max_steps < self.min_steps:
            raise ValueError(f"max_steps must be at least min_steps ({self.min_steps})")
        if self.max_steps > self.num_concepts:
            raise ValueError(
                f"max_steps must be at most num_concepts ({self.num_concepts}): steps differ in the action"
            )
        return self


@dataclass(frozen=True)
class SyntheticTask:
    """A task: the concepts of its steps (agent and place vary by video), and the text of every step."""

    concepts: Int[np.ndarray, "steps slots"]
    steps: tuple[str, ...]


@dataclass(frozen=True)
class SyntheticStepVideo:
    """The concepts and the step (−1 for background) of each second of a video."""

    content: Truth
    step: Int[np.ndarray, " seconds"]

    @property
    def spans(self) -> list[tuple[int, int, int]]:
        """(step, first second, the one after the last) of every step of the video, in order."""
        shown = np.unique(self.step[self.step >= 0]).tolist()
        where = [np.flatnonzero(self.step == step) for step in shown]
        return [(step, int(at[0]), int(at[-1]) + 1) for step, at in zip(shown, where, strict=True)]


def synthetic_task(settings: SyntheticStepSettings, task: int) -> SyntheticTask:
    """The steps of a task, with distinct actions; a sentence names action, object and tool of each."""
    rng = settings.stream(TASKS, task)
    steps = int(rng.integers(settings.min_steps, settings.max_steps + 1))
    concepts = rng.choice(settings.num_concepts, size=(steps, len(SLOTS)), p=settings.frequencies)
    concepts[:, ACTION] = rng.choice(settings.num_concepts, steps, replace=False, p=settings.frequencies)
    slots = {slot: SLOTS[slot] for slot in (ACTION, OBJECT, TOOL)}
    texts = []
    for step in concepts:
        words = {name: str(rng.choice(names(name, int(step[slot])))) for slot, name in slots.items()}
        texts.append(narrate(words, rng))
    return SyntheticTask(concepts, tuple(texts))


def synthetic_step_video(settings: SyntheticStepSettings, task: int, video: int) -> SyntheticStepVideo:
    """The `video`-th video of a task: background, a step, background, the next one, …, background.

    Agent and place are constant. Every background interval has different content, whose action is none of the task's
    steps, unless there are no others.
    """
    rng = settings.stream(STEP_VIDEOS, task * settings.videos_per_task + video)
    done = synthetic_task(settings, task).concepts
    included = _kept(settings, len(done), rng)
    concepts, shown = [], []
    for step in [*np.flatnonzero(included).tolist(), None]:
        pause = int(rng.integers(settings.background_seconds + 1))
        concepts.append(np.tile(_background(settings, done[:, ACTION], rng), (pause, 1)))
        shown.append(np.full(pause, -1))
        if step is not None:
            length = int(rng.integers(-(-settings.step_seconds // 3), settings.step_seconds + 1))
            concepts.append(np.tile(done[step], (length, 1)))
            shown.append(np.full(length, step))
    every = np.concatenate(concepts)
    every[:, [AGENT, PLACE]] = rng.choice(settings.num_concepts, 2, p=settings.frequencies)
    start = np.arange(len(every), dtype=np.float64)
    return SyntheticStepVideo(Truth(every, start, start + 1), np.concatenate(shown))


def _kept(settings: SyntheticStepSettings, steps: int, rng: np.random.Generator) -> Bool[np.ndarray, " steps"]:
    shown = rng.random(steps) >= settings.missing_step
    shown[rng.integers(steps)] |= not shown.any()
    return shown


def _background(
    settings: SyntheticStepSettings, actions: Int[np.ndarray, " steps"], rng: np.random.Generator
) -> Int[np.ndarray, " slots"]:
    content = rng.choice(settings.num_concepts, len(SLOTS), p=settings.frequencies)
    frequencies = settings.frequencies.copy()
    frequencies[actions] = 0
    if frequencies.any():
        content[ACTION] = rng.choice(settings.num_concepts, p=frequencies / frequencies.sum())
    return content
