"""LSMDC: the published annotation files and one feature file per video, as clips or as whole videos."""

from collections.abc import Sequence
from typing import ClassVar

from vtr_core.data.sources.annotated.clips import AnnotatedClips
from vtr_core.data.sources.annotated.frames import AnnotatedFrames
from vtr_core.data.sources.annotated.listing import AnnotatedListing
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.lsmdc.annotations import read_lsmdc
from vtr_core.data.sources.source import Drops


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "lsmdc"

    annotations: str
    """Folder of LSMDC16_annos_training.csv, LSMDC16_annos_val.csv and LSMDC16_challenge_1000_publictect.csv."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_lsmdc(self.annotations, drops))


class Lsmdc(_Annotations, AnnotatedClips):
    """Clips of LSMDC."""


class LsmdcVideos(_Annotations, AnnotatedFrames):
    """Whole videos of LSMDC."""
