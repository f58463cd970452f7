"""All metrics of step localisation over a data set, and their chance level."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from vtr_core.metrics.localization import (
    StepHits,
    StepOverlap,
    StepRecall,
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
    """Recall and overlaps of a data set, each by both definitions, in [0, 1]."""

    recall: StepRecall
    overlap: StepOverlap

    def flat(self) -> dict[str, float]:
        """The six figures by name: `recall_task`, `recall_video`, `iod_segment`, `iou_segment`, `iod_frame`, …."""
        recall = {f"recall_{name}": value for name, value in asdict(self.recall).items()}
        segment, frame = self.overlap.segment, self.overlap.frame
        segments = {"iod_segment": segment.iod, "iou_segment": segment.iou}
        return {**recall, **segments, "iod_frame": frame.iod, "iou_frame": frame.iou}


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
    return _mean(figures)


def _drawn(video: ScoredVideo, exactly_one: bool, draws: int, generator: np.random.Generator) -> np.ndarray:
    costs = np.repeat(-video.scores[None].astype(np.float64), draws, axis=0)
    return ordered_steps_of_many(generator.permuted(costs, axis=1), exactly_one)[0]


def _figures(videos: Sequence[ScoredVideo], assignments: Sequence[Assignment]) -> StepFigures:
    hits, overlaps = zip(*_judged(videos, assignments), strict=True) if videos else ((), ())
    return StepFigures(step_recall(hits), mean_overlap(overlaps))


def _judged(
    videos: Sequence[ScoredVideo], assignments: Sequence[Assignment]
) -> Iterator[tuple[StepHits, StepOverlap | None]]:
    for video, assignment in zip(videos, assignments, strict=True):
        placed = video.placed(assignment)
        yield step_hits(placed, video.truth), step_overlap(placed, video.truth)


def _mean(figures: Sequence[StepFigures]) -> StepFigures:
    values = [each.recall for each in figures]
    recall = StepRecall(float(np.mean([v.task for v in values])), float(np.mean([v.video for v in values])))
    return StepFigures(recall, mean_overlap([each.overlap for each in figures]))
