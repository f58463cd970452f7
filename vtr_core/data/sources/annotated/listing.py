"""The videos of an annotated data set that have a feature file, with their captions."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from vtr_core import storage
from vtr_core.config.settings import SourceSettings
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.kept import listed_videos
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.data.sources.worded_captions import worded_captions
from vtr_core.storage import Location, locate


@dataclass(frozen=True)
class Captioned:
    """A video's duration in seconds and its captions, its file without .npy, and whether it stays also without it."""

    duration: float
    captions: tuple[str, ...]
    file: str
    keep: bool = False


class AnnotatedListing(SourceSettings):
    """Settings of annotated data sets for both record kinds: annotations and folder of feature files."""

    name: ClassVar[str]

    annotations: str
    """Folder of the published annotation files."""
    feature_folder: str
    """Folder of frame features, <video id>.npy each: (time, dim) or (dim,); the 2D stream where there are two."""
    keep_missing: Literal["test", "never"] = "test"
    """test: a test video without usable features stays, its captions count as failures; so the number of queries is
    fixed. A test split of which no video has a file is left out. never: every video without features is dropped."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have features, and those that are kept without, in the order of the annotations.

        `VideoEntry.content` is a Captioned.
        """
        present = set(self._feature_ids())
        listed = listed_videos(
            self._annotated(drops),
            present=present,
            keep_missing=self.keep_missing == "test",
            where=self.annotations,
            missing=self._missing,
            rows=self._rows,
            drops=drops,
        )
        return [
            VideoEntry(video.video_id, self._content(video, video.name_among(present), kept, drops), video.split)
            for video, kept in listed
        ]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    @abstractmethod
    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        """The videos of the annotation files."""

    @abstractmethod
    def _rows(self, video: AnnotatedVideo) -> int:
        """The number of rows that a dropped video costs."""

    def _content(self, video: AnnotatedVideo, file: str | None, kept: bool, drops: Drops) -> Captioned:
        worded = worded_captions(video.captions, f"{self.annotations}, {video.video_id}", drops)
        return Captioned(video.duration, tuple(caption for _, caption in worded), file or video.video_id, kept)

    def _missing(self, video_id: str) -> UnusableError:
        return UnusableError(Reason.MISSING_FILE, f"there is no file {self._location / f'{video_id}.npy'}")

    @property
    def _location(self) -> Location:
        return locate(self.feature_folder)

    def _feature_ids(self) -> Iterator[str]:
        """The names of all feature files without .npy, with or without annotations."""
        names = (file.name for file in storage.children(self._location))
        return (name.removesuffix(".npy") for name in names if name.endswith(".npy"))
