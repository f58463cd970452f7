"""MSR-VTT: the official annotation files and one feature file per video, as clips or as whole videos."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from vtr_core.data.sources.annotated.clips import AnnotatedClips
from vtr_core.data.sources.annotated.frames import AnnotatedFrames
from vtr_core.data.sources.annotated.listing import AnnotatedListing
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.msrvtt.annotations import read_annotations
from vtr_core.data.sources.source import Drops


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    split: Literal["official", "1k-a"] = "official"
    """official: 6,513 / 497 / 2,990 videos with 20 captions each, as in the annotation files. 1k-a: MSRVTT_train.9k.csv
    and MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return read_annotations(self.annotations, self.split, drops)


class Msrvtt(_Annotations, AnnotatedClips):
    """Clips of MSR-VTT."""


class MsrvttVideos(_Annotations, AnnotatedFrames):
    """Whole videos of MSR-VTT."""
