"""Videos of annotated data sets as a whole: all frames and all captions in one row."""

from functools import cached_property

from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.annotated.listing import AnnotatedListing, Captioned
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.features.frame_folder import FrameFolder
from vtr_core.data.sources.kept import count_fault
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, Video, VideoEntry


class AnnotatedFrames(AnnotatedListing):
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
            frames = self._folder.read(content.file, self._dim)
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
