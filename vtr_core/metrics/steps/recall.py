"""Recall of step localisation: the share of annotated steps that were placed inside their segment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from vtr_core.metrics.relevance import MetricError
from vtr_core.metrics.steps.truth import StepTruth, predicted_segments


@dataclass(frozen=True)
class StepHits:
    """The task of a video, and its numbers of annotated steps and of correctly placed ones."""

    task: str
    hits: int
    total: int


@dataclass(frozen=True)
class StepRecall:
    """Recall in [0, 1] in two aggregations."""

    task: float
    """Hits and totals summed over a task's videos; the mean of their ratios over tasks (Zhukov et al. 2019)."""
    video: float
    """hits / total of each video; the mean over a task's videos, then over tasks."""


def step_hits(assignment: Bool[np.ndarray, "seconds steps"], truth: StepTruth) -> StepHits:
    """Count the annotated steps whose predicted second lies in a segment of their label.

    Of a step that was given several seconds in a row the middle one counts (the earlier of two), so that a long
    prediction does not hit by its length. A step that was not placed is a miss.
    """
    if assignment.shape[1] != len(truth.labels):
        raise MetricError(f"the assignment has {assignment.shape[1]} steps, the truth {len(truth.labels)}")
    hits = 0
    for step in truth.annotated:
        for segment in predicted_segments(assignment[:, [step]], truth.labels[step : step + 1]):
            middle = (segment.first + segment.end - 1) // 2
            hits += any(true.first <= middle < true.end for true in truth.of_label(segment.label))
    return StepHits(truth.task, hits, len(truth.annotated))


def step_recall(videos: Sequence[StepHits]) -> StepRecall:
    """The recall over all videos. Those without an annotated step have no recall and are left out of both means.

    Raises MetricError where that leaves none.
    """
    by_task: dict[str, list[StepHits]] = {}
    for video in videos:
        if video.total:
            by_task.setdefault(video.task, []).append(video)
    if not by_task:
        raise MetricError(f"none of {len(videos)} videos has an annotated step; recall needs at least one")
    pooled = [sum(v.hits for v in members) / sum(v.total for v in members) for members in by_task.values()]
    averaged = [float(np.mean([v.hits / v.total for v in members])) for members in by_task.values()]
    return StepRecall(task=float(np.mean(pooled)), video=float(np.mean(averaged)))
