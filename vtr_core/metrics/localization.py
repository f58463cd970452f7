"""Localisation of ordered steps in a video: the cheapest path, the ground truth, recall and overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from vtr_core.metrics.ranks import MetricError

_STAY, _NEXT, _SKIP = 0, 1, 2
"""By how many states a path advances at a second; on a tie the smallest advance is taken."""


class OrderedSteps(NamedTuple):
    """The placement of K steps in T seconds, and its cost."""

    assignment: Bool[np.ndarray, "seconds steps"]
    """Each second shows at most one step."""
    cost: float
    """Sum of the costs of all seconds; infinite where the steps could not be placed."""


def ordered_steps(cost: ArrayLike, *, exactly_one: bool = True) -> OrderedSteps:
    """The assignment of steps to seconds, in the steps' order, with the least total of `cost`, (T, K).

    States 0 … 2K; even ones are background (cost 0), odd k is step (k + 1)/2. A path begins in state 0 before the first
    second. From k it may go to k + 1, from a step also to the next step k + 2, and it may stay in the background. With
    `exactly_one` it may not stay in a step, so every step takes exactly one second; without it every step takes one
    second or more in a row. It ends in the last step or in the background after it (Zhukov et al. 2019, inference).

    Ties: a path that ends in the last step is preferred to one that ends in the background; for each state, staying is
    preferred to coming from k − 1, and that to coming from k − 2. Sums are float64, the costs as they are given. T < K:
    no path places every step, so none is placed and the cost is infinite. K = 0 costs 0. Raises MetricError for a cost
    that is not finite, naming its position, or not a matrix.
    """
    costs = np.asarray(cost)
    if costs.ndim != 2 or costs.dtype.kind not in "fiub":
        raise MetricError(f"cost must be (seconds, steps) numbers; it is {costs.dtype} of shape {costs.shape}")
    if not np.isfinite(costs).all():
        second, step = np.argwhere(~np.isfinite(costs))[0]
        raise MetricError(f"the cost of step {step} at second {second} is {costs[second, step]}; it must be finite")
    assignments, totals = ordered_steps_of_many(costs[None].astype(np.float64), exactly_one)
    return OrderedSteps(assignments[0], float(totals[0]))


def ordered_steps_of_many(
    costs: Float[np.ndarray, "draws seconds steps"], exactly_one: bool
) -> tuple[Bool[np.ndarray, "draws seconds steps"], Float[np.ndarray, " draws"]]:
    """`ordered_steps` of several finite matrices at once: (assignments, total costs)."""
    draws, seconds, steps = costs.shape
    assignments = np.zeros(costs.shape, np.bool_)
    if steps == 0:
        return assignments, np.zeros(draws)
    if seconds < steps:
        return assignments, np.full(draws, np.inf)
    totals, came_from = _forward(costs, exactly_one)
    background, last_step = totals[:, -1], totals[:, -2]
    state = np.where(background < last_step, 2 * steps, 2 * steps - 1)
    every = np.arange(draws)
    for second in range(seconds - 1, -1, -1):
        shown = state % 2 == 1
        assignments[every[shown], second, state[shown] // 2] = True
        state = state - came_from[second, every, state]
    assert (state == 0).all(), "a path begins in state 0"
    return assignments, np.minimum(background, last_step)


def _forward(
    costs: Float[np.ndarray, "draws seconds steps"], exactly_one: bool
) -> tuple[Float[np.ndarray, "draws states"], Int[np.ndarray, "seconds draws states"]]:
    """The least cost of a path to each state after the last second, and its advance in states at each second."""
    draws, seconds, steps = costs.shape
    total = np.full((draws, 2 * steps + 1), np.inf)
    total[:, 0] = 0
    came_from = np.zeros((seconds, *total.shape), np.int8)
    for second in range(seconds):
        best = total.copy()
        if exactly_one:
            best[:, 1::2] = np.inf
        for rise, allowed in ((_NEXT, slice(1, None)), (_SKIP, slice(3, None, 2))):
            target, source = best[:, allowed], total[:, slice(allowed.start - rise, -rise, allowed.step)]
            better = source < target
            came_from[second, :, allowed][better] = rise
            target[better] = source[better]
        best[:, 1::2] += costs[:, second]
        total = best
    return total, came_from


@dataclass(frozen=True)
class Segment:
    """The seconds `first` … `end` − 1 show the step `label`."""

    first: int
    end: int
    label: str

    @property
    def seconds(self) -> int:
        """Its length."""
        return self.end - self.first


def whole_seconds(start: float, end: float, label: str) -> Segment:
    """The segment of the seconds that `start` … `end` overlaps: ⌊start⌋ … ⌈end⌉ − 1 (Zhukov et al. 2019)."""
    return Segment(math.floor(start), math.ceil(end), label)


@dataclass(frozen=True)
class StepTruth:
    """A video's task, the label of each step in the order in which it was searched, and its annotated segments.

    A label may occur several times in the order. Segments may overlap, may lie beyond the video's last second, and
    there may be none. A step is *annotated* where some segment has its label.
    """

    task: str
    labels: tuple[str, ...]
    segments: tuple[Segment, ...]

    @property
    def annotated(self) -> list[int]:
        """The steps, counted from 0, that the video shows according to its annotation."""
        shown = {segment.label for segment in self.segments}
        return [step for step, label in enumerate(self.labels) if label in shown]

    def of_label(self, label: str) -> list[Segment]:
        """The annotated segments with a label."""
        return [segment for segment in self.segments if segment.label == label]


def predicted_segments(assignment: Bool[np.ndarray, "seconds steps"], labels: Sequence[str]) -> list[Segment]:
    """One segment per placed step, of all its seconds, which are consecutive."""
    segments = []
    for step in np.flatnonzero(assignment.any(axis=0)).tolist():
        shown = np.flatnonzero(assignment[:, step])
        segments.append(Segment(int(shown[0]), int(shown[-1]) + 1, labels[step]))
    return segments


@dataclass(frozen=True)
class StepHits:
    """The task of a video, and its numbers of annotated steps and of correctly placed ones."""

    task: str
    hits: int
    total: int


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


def step_recall(videos: Sequence[StepHits]) -> float:
    """Hits and totals summed over a task's videos; the mean of their ratios over tasks (Zhukov et al. 2019).

    Videos without an annotated step are left out. Raises MetricError where that leaves none.
    """
    by_task: dict[str, list[StepHits]] = {}
    for video in videos:
        if video.total:
            by_task.setdefault(video.task, []).append(video)
    if not by_task:
        raise MetricError(f"none of {len(videos)} videos has an annotated step; recall needs at least one")
    tasks = by_task.values()
    return float(np.mean([sum(v.hits for v in members) / sum(v.total for v in members) for members in tasks]))


@dataclass(frozen=True)
class Overlap:
    """IoD = |G ∩ D| / |D| and IoU = |G ∩ D| / |G ∪ D| for truth G and detection D, in [0, 1]."""

    iod: float
    iou: float


def step_overlap(assignment: Bool[np.ndarray, "seconds steps"], truth: StepTruth) -> Overlap | None:
    """The overlaps of one video; None where nothing is annotated and overlap is undefined.

    For each annotated segment G the best IoD and, separately, the best IoU over the predicted segments D of its label,
    0 where there is none; the union is the envelope, from the earlier start to the later end, also beyond the video's
    last second. The mean over annotated segments.
    """
    if not truth.segments:
        return None
    detected = predicted_segments(assignment, truth.labels)
    best = []
    for true in truth.segments:
        overlaps = [_overlap(true, predicted) for predicted in detected if predicted.label == true.label]
        best.append(Overlap(max((o.iod for o in overlaps), default=0.0), max((o.iou for o in overlaps), default=0.0)))
    return mean_overlap(best)


def _overlap(true: Segment, predicted: Segment) -> Overlap:
    common = max(0, min(true.end, predicted.end) - max(true.first, predicted.first))
    envelope = max(true.end, predicted.end) - min(true.first, predicted.first)
    return Overlap(common / predicted.seconds, common / envelope)


def mean_overlap(overlaps: Sequence[Overlap | None]) -> Overlap:
    """The means; videos without annotation (None) are left out. MetricError where that leaves none."""
    known = [overlap for overlap in overlaps if overlap is not None]
    if not known:
        raise MetricError(f"none of {len(overlaps)} videos has an annotated segment; overlaps need at least one")
    return Overlap(float(np.mean([o.iod for o in known])), float(np.mean([o.iou for o in known])))
