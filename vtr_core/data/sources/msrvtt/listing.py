"""MSR-VTT's videos with their captions, for those that have a feature file; the rows come from `msrvtt`."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from vtr_core import storage
from vtr_core.config.settings import SourceSettings
from vtr_core.data.sources.msrvtt.annotations import AnnotatedVideo, read_annotations
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.storage import Location, locate
from vtr_core.text.tokens.vocabulary import tokenise

TEST = "test"


@dataclass(frozen=True)
class Captioned:
    """A video's duration in seconds and its captions, and whether it stays also where it has no features."""

    duration: float
    captions: tuple[str, ...]
    keep: bool = False


class MsrvttListing(SourceSettings):
    """What both record kinds of MSR-VTT share: annotations, a folder of feature files, and the split."""

    name: ClassVar[str] = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    feature_folder: str
    """Folder of frame features, <video id>.npy each: (time, dim) or (dim,)."""
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
        present = {file.name for file in storage.children(self._location)}
        annotated = read_annotations(self.annotations, self.split, drops)
        keep = self.keep_missing == "test" and any(v.split == TEST and _file(v) in present for v in annotated)
        entries = []
        for video in annotated:
            kept = keep and video.split == TEST
            try:
                self._check(video, present, kept)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{self.annotations}: {fault}", self._rows(video))
                continue
            content = Captioned(
                video.duration, tuple(_usable(f"{self.annotations}, {video.video_id}", video.captions, drops)), kept
            )
            entries.append(VideoEntry(video.video_id, content, video.split))
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    @abstractmethod
    def _rows(self, video: AnnotatedVideo) -> int:
        """The rows that are lost with a video."""

    def _check(self, video: AnnotatedVideo, present: set[str], kept: bool) -> None:
        check_id(video.video_id)
        if not kept and _file(video) not in present:
            raise UnusableError(Reason.MISSING_FILE, f"there is no file {self._location / _file(video)}")

    @property
    def _location(self) -> Location:
        return locate(self.feature_folder)

    def _feature_ids(self) -> Iterator[str]:
        """The ids of all feature files, annotated or not."""
        names = (file.name for file in storage.children(self._location))
        return (name.removesuffix(".npy") for name in names if name.endswith(".npy"))


def _file(video: AnnotatedVideo) -> str:
    return f"{video.video_id}.npy"


def _usable(where: str, captions: Iterable[str], drops: Drops) -> Iterator[str]:
    for caption in captions:
        if tokenise(caption):
            yield caption
        else:
            drops.drop(Reason.EMPTY_CAPTION, f"{where}: the caption {caption!r} holds no word")
