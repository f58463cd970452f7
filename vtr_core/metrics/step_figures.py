"""All metrics of step localisation over a data set, and their chance level."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from vtr_core.metrics.localization import (
    Overlap,
    StepTruth,
    mean_overlap,
    ordered_steps,
    ordered_steps_of_many,
    step_hits,
    step_overlap,
    step_recall,
)
from vtr_core.metrics.ranks import MetricError

Assignment = Bool[np.ndarray, "_ _"]
"""(seconds, steps): the assignment of one video."""


@dataclass(frozen=True)
class ScoredVideo:
    """A video to be scored: its ground truth, the score of every step at every second, and the steps without a score.

    Scores of steps without one must be finite placeholders; wherever such a step is placed, it counts as not placed.
    """

    truth: StepTruth
    scores: Float[np.ndarray, "_ _"]
    unscored: tuple[int, ...] = ()

    def placed(self, assignment: Assignment) -> Assignment:
        """`assignment` without the steps that have no score."""
        placed = assignment.copy()
        placed[:, list(self.unscored)] = False
        return placed


@dataclass(frozen=True)
class StepFigures:
    """Recall and overlaps of a data set, in [0, 1]."""

    recall: float
    overlap: Overlap

    def flat(self) -> dict[str, float]:
        """The figures by name."""
        return {"recall_task": self.recall, "iod_segment": self.overlap.iod, "iou_segment": self.overlap.iou}


def centred(video: ScoredVideo) -> ScoredVideo:
    """The video with the mean score of its steps that have one subtracted, so that the background's score of 0 is an
    average score."""
    scores = np.delete(video.scores, video.unscored, axis=1) if video.unscored else video.scores
    return video if scores.size == 0 else replace(video, scores=video.scores - scores.mean())


def centred_by_step(video: ScoredVideo) -> ScoredVideo:
    """The video with each step's mean score over its seconds subtracted: a second is background where it fits no step
    better than an average second does. Of one second per step the best path stays the same."""
    return video if video.scores.size == 0 else replace(video, scores=video.scores - video.scores.mean(axis=0))


def localise(videos: Sequence[ScoredVideo], exactly_one: bool) -> StepFigures:
    """The figures of the best ordered paths: `ordered_steps` of cost −score in every video."""
    return _figures(videos, [ordered_steps(-video.scores, exactly_one=exactly_one).assignment for video in videos])


def by_chance(videos: Sequence[ScoredVideo], exactly_one: bool, draws: int, seed: int) -> StepFigures:
    """The expected metrics of scores without temporal information: the mean over `draws` random permutations.

    A draw shuffles each step's scores over the seconds of its video. So they keep their range relative to the
    background's cost of 0, which decides how much of a video becomes background. Deterministic in `seed`.
    """
    if draws < 1:
        raise MetricError(f"draws must be 1 or more, not {draws}")
    generator = np.random.default_rng(seed)
    drawn = [_drawn(video, exactly_one, draws, generator) for video in videos]
    figures = [_figures(videos, [video[draw] for video in drawn]) for draw in range(draws)]
    return StepFigures(float(np.mean([f.recall for f in figures])), mean_overlap([f.overlap for f in figures]))


def _drawn(video: ScoredVideo, exactly_one: bool, draws: int, generator: np.random.Generator) -> np.ndarray:
    costs = np.repeat(-video.scores[None].astype(np.float64), draws, axis=0)
    return ordered_steps_of_many(generator.permuted(costs, axis=1), exactly_one)[0]


def _figures(videos: Sequence[ScoredVideo], assignments: Sequence[Assignment]) -> StepFigures:
    placed = [video.placed(assignment) for video, assignment in zip(videos, assignments, strict=True)]
    hits = [step_hits(own, video.truth) for own, video in zip(placed, videos, strict=True)]
    overlaps = [step_overlap(own, video.truth) for own, video in zip(placed, videos, strict=True)]
    return StepFigures(step_recall(hits), mean_overlap(overlaps))
