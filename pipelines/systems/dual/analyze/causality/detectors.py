"""Quality of a dual encoder's concept detectors (thesis, Table 5.4 and Figure 5.10)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.calibration import (
    Calibration,
    Fate,
    TagPrecision,
    calibration,
    expected_calibration_error,
    fates,
    tag_precision,
)
from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.transforms import Transform
from vtr_core.data.concepts.table import ConceptTable
from pipelines.systems.dual.analyze.analysed_set import AnalysedSet

BINS = 20
FEWEST_VIDEOS = 5
"""Minimum number of training videos with a concept for its detector to be judged."""


@dataclass(frozen=True)
class SideReport:
    """Detection on one side, captions or videos, of a data set; a caption has the labels of its video, as in
    training.
    """

    side: str
    original: Calibration
    improved: Calibration | None
    """Calibration after the transform; None under a cosine, whose transformed scores are no probabilities."""
    presence_error: float
    """Calibration error of the original against binary labels: presence of the concept, not its frequency."""
    tags: TagPrecision


@dataclass(frozen=True)
class SplitReport:
    """Detection on both sides of a data set."""

    name: str
    text: SideReport
    video: SideReport
    num_videos: int


def split_report(
    name: str, data: AnalysedSet, space: ConceptSpace, table: ConceptTable, best: Transform
) -> SplitReport:
    """Detection rates, calibration and average precision of a data set whose videos are in the concept table.

    Probabilities are σ(h) and, improved, σ(a(h − b))^p; precision is the same for both.
    """
    labels = table.soft_labels(data.video_key, space.text.shape[1])
    video = _side("video", space.video, labels, best)
    text = _side("text", space.text, labels[space.caption_video.numpy()], best)
    return SplitReport(name, text, video, len(labels))


def detector_fates(
    reports: Mapping[str, SplitReport], train: str, other: str, names: Sequence[str]
) -> dict[Fate, list[str]]:
    """Concepts by the fate of their video detectors on the splits `train` and `other`; in order of frequency."""
    found: dict[Fate, list[str]] = {"learned": [], "not generalised": [], "failed": [], "too rare": []}
    first, second = reports[train], reports[other]
    judged = fates(first.video.tags, second.video.tags, FEWEST_VIDEOS, first.num_videos)
    for name, fate in zip(names, judged, strict=True):
        found[fate].append(name)
    return found


def _side(
    side: str, scores: Float[Tensor, "samples concepts"], labels: Float[np.ndarray, "samples concepts"], best: Transform
) -> SideReport:
    original = torch.sigmoid(scores).numpy()
    improved = best.apply(scores).numpy() if best.similarity == "jaccard" else None
    present = labels > 0
    return SideReport(
        side=side,
        original=calibration(original, labels),
        improved=None if improved is None else calibration(improved, labels),
        presence_error=expected_calibration_error(original, present.astype(np.float32)),
        tags=tag_precision(scores.numpy(), present),
    )


@dataclass(frozen=True)
class Histogram:
    """Numbers of videos by detection probability in `BINS` equal bins of [0, 1], with and without the concept."""

    present: Int64[np.ndarray, " bins"]
    absent: Int64[np.ndarray, " bins"]


def histogram(data: AnalysedSet, space: ConceptSpace, table: ConceptTable, concept: int) -> Histogram:
    """Figure 5.10: the histogram of a concept's video detector; concept: its index in the model."""
    labels = table.soft_labels(data.video_key, space.text.shape[1])[:, concept]
    detected = torch.sigmoid(space.video[:, concept]).numpy()
    found = [np.histogram(detected[kept], BINS, (0.0, 1.0))[0] for kept in (labels > 0, labels == 0)]
    return Histogram(*(counts.astype(np.int64) for counts in found))
