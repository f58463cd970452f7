"""MSR-VTT's videos with their captions, for those that have a feature file; the rows come from `msrvtt`."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from vtr_core import storage
from vtr_core.config.settings import SourceSettings
from vtr_core.data.sources.kept import listed_videos
from vtr_core.data.sources.msrvtt.annotations import AnnotatedVideo, read_annotations
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.data.sources.worded_captions import worded_captions
from vtr_core.storage import Location, locate


@dataclass(frozen=True)
class Captioned:
    """A video's duration in seconds and its captions, and whether it stays also where it has no features."""

    duration: float
    captions: tuple[str, ...]
    keep: bool = False


class MsrvttListing(SourceSettings):
    """Settings of MSR-VTT for both record kinds: annotations, folder of feature files, split."""

    name: ClassVar[str] = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    feature_folder: str
    """Folder of frame features, <video id>.npy each: (time, dim) or (dim,); the 2D stream where there are two."""
    split: Literal["official", "1k-a"] = "official"
    """official: 6,513 / 497 / 2,990 videos with 20 captions each, as in the annotation files. 1k-a: MSRVTT_train.9k.csv
    and MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""
    keep_missing: Literal["test", "never"] = "test"
    """test: a test video without usable features stays, its captions count as failures; so the number of queries is
    fixed. A test split of which no video has a file is left out. never: every video without features is dropped."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have features, and those that are kept without, in the order of the annotations.

        `VideoEntry.content` is a Captioned.
        """
        annotated = read_annotations(self.annotations, self.split, drops)
        listed = listed_videos(
            annotated,
            present=set(self._feature_ids()),
            keep_missing=self.keep_missing == "test",
            where=self.annotations,
            missing=self._missing,
            rows=self._rows,
            drops=drops,
        )
        return [VideoEntry(video.video_id, self._content(video, kept, drops), video.split) for video, kept in listed]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    @abstractmethod
    def _rows(self, video: AnnotatedVideo) -> int:
        """The number of rows that a dropped video costs."""

    def _content(self, video: AnnotatedVideo, kept: bool, drops: Drops) -> Captioned:
        worded = worded_captions(video.captions, f"{self.annotations}, {video.video_id}", drops)
        return Captioned(video.duration, tuple(caption for _, caption in worded), kept)

    def _missing(self, video_id: str) -> UnusableError:
        return UnusableError(Reason.MISSING_FILE, f"there is no file {self._location / f'{video_id}.npy'}")

    @property
    def _location(self) -> Location:
        return locate(self.feature_folder)

    def _feature_ids(self) -> Iterator[str]:
        """The ids of all feature files, with or without annotations."""
        names = (file.name for file in storage.children(self._location))
        return (name.removesuffix(".npy") for name in names if name.endswith(".npy"))
