"""MSVD: the published annotation files and one feature file per video, as clips or as whole videos."""

from collections.abc import Sequence
from typing import ClassVar

from vtr_core.data.sources.annotated.clips import AnnotatedClips
from vtr_core.data.sources.annotated.frames import AnnotatedFrames
from vtr_core.data.sources.annotated.listing import AnnotatedListing
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.msvd.annotations import read_msvd
from vtr_core.data.sources.source import Drops


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "msvd"

    annotations: str
    """Folder of captions_msvd.json, train_list.txt, val_list.txt and test_list.txt: 1,200 / 100 / 670 videos."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_msvd(self.annotations, drops))


class Msvd(_Annotations, AnnotatedClips):
    """Clips of MSVD."""


class MsvdVideos(_Annotations, AnnotatedFrames):
    """Whole videos of MSVD."""
