"""Ground truth of step localisation: the ordered steps of a video and their annotated segments, in whole seconds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool


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
    found = []
    for step in np.flatnonzero(assignment.any(axis=0)).tolist():
        shown = np.flatnonzero(assignment[:, step])
        found.append(Segment(int(shown[0]), int(shown[-1]) + 1, labels[step]))
    return found
