"""A collection in the format of the published code of dual encoding: a BigFile of frames and a file of captions."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.big_file import BigFileFrames
from vtr_core.data.sources.files.annotation_text import read_lines
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.storage import locate
from vtr_core.storage.big_file import BigFile
from vtr_core.text.tokens.vocabulary import tokenise


class BigFileVideos(SourceSettings):
    """Whole videos; VideoEntry.content is the tuple of a video's captions.

    A video of the captions without a frame is dropped and counted. Without a file of captions every video of the
    BigFile is a row without captions: a collection to be searched.
    """

    name: ClassVar[str] = "bigfile"

    feature_folder: str
    """Folder of feature.bin, shape.txt and id.txt, whose vectors are called <video>_<number>, frame by frame."""
    captions_file: str | None = None
    """File of lines "<video>#<anything> caption" (default: no captions)."""
    single: bool = False
    """Whether every vector is a video of one frame, whose id is the vector's name."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have captions, in the order of the captions; without captions all of the BigFile."""
        found = []
        for video_id, captions in self._captions(drops).items():
            try:
                check_id(video_id)
                if video_id not in self._frames.names:
                    raise UnusableError(Reason.MISSING_FILE, f"{self.feature_folder} has no frame of {video_id}")
            except UnusableError as fault:
                drops.drop(fault.reason, str(fault))
                continue
            found.append(VideoEntry(video_id, captions, self._split(video_id)))
        return found

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, with the values of a frame."""
        return (FeatureSpec("video", self._frames.dim),)

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The row of a video."""
        try:
            return Video(video.video_id, video.content, {"video": self._frames.read(video.video_id)})
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault))
            return None

    def _split(self, video_id: str) -> str | None:  # noqa: ARG002  a collection is one data set
        return None

    def _captions(self, drops: Drops) -> Mapping[str, tuple[str, ...]]:
        """The captions of every video."""
        if self.captions_file is None:
            return dict.fromkeys(self._frames.ids(), ())
        found: dict[str, list[str]] = {}
        for number, line in enumerate(caption_lines(self.captions_file), start=1):
            video_id, caption = _cut(line)
            where = f"{self.captions_file}, line {number}"
            if video_id is None:
                drops.drop(Reason.BAD_LINE, f"{where}: {line[:40]!r} is not <video>#<number> and a caption")
            elif not tokenise(caption):
                drops.drop(Reason.EMPTY_CAPTION, f"{where}: the caption {caption[:40]!r} holds no word")
            else:
                found.setdefault(video_id, []).append(caption)
        return {video_id: tuple(captions) for video_id, captions in found.items()}

    @cached_property
    def _frames(self) -> BigFileFrames:
        return BigFileFrames(BigFile(locate(self.feature_folder)), self.single)


def caption_lines(uri: str) -> list[str]:
    """The non-empty lines of a text file; InputError where it cannot be read."""
    return [line for line in read_lines(locate(uri)) if line.strip()]


def _cut(line: str) -> tuple[str | None, str]:
    """Video and caption of a line; None for a line without a video."""
    key, _, caption = line.strip().partition(" ")
    video_id, mark, _ = key.partition("#")
    return (video_id if mark and video_id else None), caption.strip()
