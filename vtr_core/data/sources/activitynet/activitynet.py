"""ActivityNet Captions: the published annotation files and one feature file per video, as clips or as whole videos."""

from collections.abc import Sequence
from typing import ClassVar

from vtr_core.data.sources.activitynet.annotations import TestFile, read_activitynet
from vtr_core.data.sources.annotated.clips import AnnotatedClips
from vtr_core.data.sources.annotated.frames import AnnotatedFrames
from vtr_core.data.sources.annotated.listing import AnnotatedListing
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.source import Drops


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "activitynet"

    annotations: str
    """Folder of train.json and val_1.json: 10,009 / 4,917 videos, each with one paragraph; val_1 becomes the split
    test."""
    test: TestFile = "val_1"
    """Annotations of the test videos: val_1, which CLIP4Clip tests, or val_2, other people's of the same videos."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_activitynet(self.annotations, drops, self.test))


class ActivityNet(_Annotations, AnnotatedClips):
    """Clips of ActivityNet Captions."""


class ActivityNetVideos(_Annotations, AnnotatedFrames):
    """Whole videos of ActivityNet Captions."""
