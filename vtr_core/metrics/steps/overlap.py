"""Overlap of localised with annotated steps: intersection over detection (IoD) and union (IoU), by two definitions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from vtr_core.metrics.relevance import MetricError
from vtr_core.metrics.steps.truth import Segment, StepTruth, predicted_segments


@dataclass(frozen=True)
class Overlap:
    """IoD = |G ∩ D| / |D| and IoU = |G ∩ D| / |G ∪ D| for truth G and detection D, in [0, 1]."""

    iod: float
    iou: float


@dataclass(frozen=True)
class StepOverlap:
    """Both definitions for one video, or their means over videos."""

    segment: Overlap
    frame: Overlap


def step_overlap(assignment: Bool[np.ndarray, "seconds steps"], truth: StepTruth) -> StepOverlap | None:
    """The overlaps of one video; None where nothing is annotated and overlap is undefined.

    `segment`: for each annotated segment G the best IoD and, separately, the best IoU over the predicted segments D of
    its label, 0 where there is none; the union is the envelope, from the earlier start to the later end. The mean over
    annotated segments.
    `frame`: for each annotated label, G and D are the sets of all seconds annotated and predicted with it; an empty D
    has IoD 0. The mean over annotated labels.
    Annotated seconds beyond the video's last one count in the unions.
    """
    if not truth.segments:
        return None
    detected = predicted_segments(assignment, truth.labels)
    by_segment = [
        _best([_segments(true, found) for found in detected if found.label == true.label]) for true in truth.segments
    ]
    by_label = [
        _frames(_seconds(truth.segments, label), _seconds(detected, label))
        for label in sorted({segment.label for segment in truth.segments})
    ]
    return StepOverlap(segment=_mean(by_segment), frame=_mean(by_label))


def mean_overlap(videos: Sequence[StepOverlap | None]) -> StepOverlap:
    """The means over videos; those without annotation (None) are left out. MetricError where that leaves none."""
    known = [video for video in videos if video is not None]
    if not known:
        raise MetricError(f"none of {len(videos)} videos has an annotated segment; overlaps need at least one")
    return StepOverlap(_mean([video.segment for video in known]), _mean([video.frame for video in known]))


def _segments(true: Segment, found: Segment) -> Overlap:
    common = max(0, min(true.end, found.end) - max(true.first, found.first))
    envelope = max(true.end, found.end) - min(true.first, found.first)
    return Overlap(common / found.seconds, common / envelope)


def _frames(true: set[int], found: set[int]) -> Overlap:
    common = len(true & found)
    return Overlap(common / len(found) if found else 0.0, common / len(true | found))


def _seconds(segments: Sequence[Segment], label: str) -> set[int]:
    return {second for s in segments if s.label == label for second in range(s.first, s.end)}


def _best(overlaps: Sequence[Overlap]) -> Overlap:
    return Overlap(max((o.iod for o in overlaps), default=0.0), max((o.iou for o in overlaps), default=0.0))


def _mean(overlaps: Sequence[Overlap]) -> Overlap:
    return Overlap(float(np.mean([o.iod for o in overlaps])), float(np.mean([o.iou for o in overlaps])))
