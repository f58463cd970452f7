"""Videos with all their captions, from published annotation files or a table, restricted to those with content."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float16
from pydantic import model_validator

from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.captioned_videos import read_annotated
from vtr_core.data.sources.clip.caption_table import read_captions
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import (
    AnnotatedVideo,
    Drops,
    Video,
    VideoEntry,
    count_fault,
    listed_videos,
    worded_captions,
)


@dataclass(frozen=True)
class ListedVideo:
    """A video's captions with at least one word, and its file or folder."""

    captions: tuple[str, ...]
    places: tuple[int, ...]
    """The position of each caption among all captions of the video."""
    num_given: int
    file: str | None
    """The name of its file or folder; None where it does not exist."""
    keep: bool
    """Whether the video is kept without content, see `keep_missing`."""


def zero_vectors(listed: ListedVideo, dim: int) -> Float16[np.ndarray, "captions dim"]:
    """Zero vectors for the captions of a video that is kept without content; models treat them as absent."""
    return np.zeros((len(listed.captions), dim), FEATURE_DTYPE)


class CaptionListing(SourceSettings):
    """Common settings of adapters of whole videos with captions: the list of videos, their captions and splits.

    A caption without a word is left out and counted, and with it its vector.
    """

    name: ClassVar[str]

    annotations: str | None = None
    """Folder of the published annotation files of `data_set`, as for vtr ingest <data set>; of MSR-VTT also one
    file."""
    data_set: Literal["msrvtt", "msvd", "didemo", "activitynet", "lsmdc"] = "msrvtt"
    """The data set whose annotations these are."""
    split: Literal["official", "1k-a"] = "official"
    """Split of the MSR-VTT annotations: official has 6,513 / 497 / 2,990 videos; 1k-a uses MSRVTT_train.9k.csv and
    MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""
    table: str | None = None
    """Your own data instead: CSV, TSV, JSON lines (.jsonl) or Parquet with the columns id and caption, a row for each
    caption, and optionally split."""
    keep_missing: Literal["test", "never"] = "test"
    """test: a test video without usable content stays, its captions count as failures; so the number of queries is
    fixed. A test split of which no video has content is left out. never: every such video is dropped."""

    @model_validator(mode="after")
    def _check_one_listing(self) -> "CaptionListing":
        if (self.annotations is None) == (self.table is None):
            raise ValueError("give annotations, published files, or table, your own; one of them")
        if self.split != "official" and (self.table is not None or self.data_set != "msrvtt"):
            raise ValueError(f"split = {self.split} is MSR-VTT's; a table has a column split, or use --splits")
        if self.table is not None and self.data_set != "msrvtt":
            raise ValueError(f"data_set = {self.data_set} is of annotations; leave it out with a table")
        return self

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, without `data_set` for MSR-VTT and tables, as in older data sets."""
        found = super().settings()
        if self.data_set == "msrvtt":
            del found["data_set"]
        return found

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have content, and those that are kept without, in the order of the annotations or table.

        `VideoEntry.content` is a ListedVideo.
        """
        present = self._files(drops)
        listed = listed_videos(
            self._listed(drops),
            present=present,
            keep_missing=self.keep_missing == "test",
            where=self._origin,
            missing=self._missing,
            rows=lambda _: 1,
            drops=drops,
        )
        return [
            VideoEntry(video.video_id, self._content(video, _file(video, present), kept, drops), video.split)
            for video, kept in listed
        ]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The row of a video."""
        listed: ListedVideo = video.content
        if not listed.captions:
            self._count_without_captions(video, drops)
            return None
        try:
            return Video(video.video_id, listed.captions, self._features(video.video_id, listed))
        except UnusableError as fault:
            count_fault(fault, listed.keep, 1, drops)
            return Video(video.video_id, listed.captions, self._absent(listed)) if listed.keep else None

    @abstractmethod
    def _features(self, video_id: str, listed: ListedVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        """The features of a video; raises UnusableError where its content cannot be used."""

    @abstractmethod
    def _absent(self, listed: ListedVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        """The features of a video that is kept without content."""

    def _count_without_captions(self, video: VideoEntry, drops: Drops) -> None:
        """Count a video that has no caption left."""
        drops.drop(Reason.EMPTY_CAPTION, f"{self._origin}, {video.video_id}: there is no caption that holds a word")

    @abstractmethod
    def _files(self, drops: Drops) -> Mapping[str, str]:
        """The names of files or folders that are there, by the names of their videos."""

    @abstractmethod
    def _missing(self, video_id: str) -> UnusableError:
        """The error for a video without a file or folder."""

    @property
    def _origin(self) -> str:
        told_by = self.table if self.annotations is None else self.annotations
        assert told_by is not None
        return told_by

    def _listed(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        if self.annotations is not None:
            return list(
                read_annotated("msrvtt-1k-a" if self.split == "1k-a" else self.data_set, self.annotations, drops)
            )
        return read_captions(self._origin, drops)

    def _content(self, video: AnnotatedVideo, file: str | None, kept: bool, drops: Drops) -> ListedVideo:
        worded = list(worded_captions(video.captions, f"{self._origin}, {video.video_id}", drops))
        places, captions = tuple(place for place, _ in worded), tuple(caption for _, caption in worded)
        return ListedVideo(captions, places, len(video.captions), file, kept)


def _file(video: AnnotatedVideo, present: Mapping[str, str]) -> str | None:
    name = video.name_among(present)
    return None if name is None else present[name]
