"""DiDeMo: the published annotation files and one feature file per video, as clips or as whole videos."""

from collections.abc import Sequence
from typing import ClassVar

from vtr_core.data.sources.annotated.clips import AnnotatedClips
from vtr_core.data.sources.annotated.frames import AnnotatedFrames
from vtr_core.data.sources.annotated.listing import AnnotatedListing
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.didemo.annotations import read_didemo
from vtr_core.data.sources.source import Drops


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "didemo"

    annotations: str
    """Folder of train_data.json, val_data.json and test_data.json: 8,395 / 1,065 / 1,004 videos, each with one
    paragraph."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_didemo(self.annotations, drops))


class DiDeMo(_Annotations, AnnotatedClips):
    """Clips of DiDeMo."""


class DiDeMoVideos(_Annotations, AnnotatedFrames):
    """Whole videos of DiDeMo."""
