"""MSR-VTT: the official annotation files and one feature file per video, as clips or as whole videos."""

from collections.abc import Iterator
from functools import cached_property

from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.folder import FeatureFolder
from vtr_core.data.sources.features.frame_folder import FrameFolder
from vtr_core.data.sources.features.pooling import Pool, to_float16
from vtr_core.data.sources.kept import count_fault
from vtr_core.data.sources.msrvtt.annotations import AnnotatedVideo
from vtr_core.data.sources.msrvtt.listing import Captioned, MsrvttListing
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Clip, Drops, Video, VideoEntry


class Msrvtt(MsrvttListing):
    """All captions of a video share its clip, whose id is the video's; video = L2(pooled frame features).

    Of training and validation only videos with a feature file are listed; the rows of the others are counted as
    missing_file. `keep_missing` controls test videos without one.
    """

    pool: Pool = "max"
    """How the rows of a video become one vector."""
    normalise: bool = True
    """Whether the vector is normalised to length 1."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, with the dimension of the first readable files."""
        return (FeatureSpec("video", self._dim),)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """One row per caption, in the order of the annotations."""
        content: Captioned = video.content
        try:
            vector = self._folder.clip(video.video_id, self._folder.read(video.video_id, self._dim), 0.0, None)
            features = {"video": to_float16(vector, str(self._folder.file(video.video_id)))}
        except UnusableError as fault:
            count_fault(fault, content.keep, len(content.captions), drops)
            if not content.keep:
                return
            features = {}
        for caption in content.captions:
            yield Clip(video.video_id, 0.0, content.duration, caption, features)

    def _rows(self, video: AnnotatedVideo) -> int:
        return max(1, len(video.captions))

    @cached_property
    def _folder(self) -> FeatureFolder:
        return FeatureFolder(self._location, self.pool, normalise=self.normalise)

    @cached_property
    def _dim(self) -> int:
        return self._folder.dim(self._feature_ids())


class MsrvttVideos(MsrvttListing):
    """Every video is one row, with all its captions and all its frames, as they are: neither pooled nor normalised.

    Files may have further axes, such as (time, patches, dim); they are flattened into the values of a frame. Of
    training and validation only videos with a feature file are listed; the others are counted as missing_file.
    `keep_missing` controls test videos without one. A caption without a word is left out and counted; so is a video
    without captions.
    """

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, with the dimension of a frame of the first readable files."""
        return (FeatureSpec("video", self._dim),)

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The row of a video, its captions in the order of the annotations."""
        content: Captioned = video.content
        if not content.captions:
            drops.drop(
                Reason.EMPTY_CAPTION, f"{self.annotations}, {video.video_id}: there is no caption that holds a word"
            )
            return None
        try:
            frames = self._folder.read(video.video_id, self._dim)
        except UnusableError as fault:
            count_fault(fault, content.keep, 1, drops)
            return Video(video.video_id, content.captions, {}) if content.keep else None
        return Video(video.video_id, content.captions, {"video": frames})

    def _rows(self, video: AnnotatedVideo) -> int:  # noqa: ARG002  (one, whatever it holds)
        return 1

    @cached_property
    def _folder(self) -> FrameFolder:
        return FrameFolder(self._location)

    @cached_property
    def _dim(self) -> int:
        return self._folder.dim(self._feature_ids())
