"""Published data sets of captioned videos, as clips with pooled features or as whole videos."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float16

from vtr_core import storage
from vtr_core.config.override import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import Pool
from vtr_core.data.sources.features.feature_folder import ClipStreams, FeatureFolder, FrameFolder
from vtr_core.data.sources.files import check_id
from vtr_core.data.sources.published_captions import (
    AnnotatedDataSet,
    AnnotatedVideo,
    read_annotated,
    read_msrvtt,
)
from vtr_core.data.sources.source import (
    Clip,
    Drops,
    Video,
    VideoEntry,
    count_fault,
    worded_captions,
)
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

Features = dict[str, Float16[np.ndarray, "_ _"]]


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
    duration: float
    """Seconds; 0 where it is not annotated."""


def listed_videos(
    videos: Sequence[AnnotatedVideo],
    present: Mapping[str, str],
    keep_missing: Literal["test", "never"],
    where: str,
    missing: Callable[[str], UnusableError],
    drops: Drops,
    rows: Callable[[AnnotatedVideo], int] = lambda _: 1,
) -> list[VideoEntry]:
    """The annotated videos with content, and the test videos that stay without; `VideoEntry.content` is a ListedVideo.

    present: the files or folders with content by the videos' names. Test videos without it stay with `keep_missing`
    "test", unless no test video has any. Other videos without content (`missing`), and ids that cannot name a file, are
    dropped; each counts `rows`. A caption without a word is left out and counted.
    """
    keep = keep_missing == "test" and any(video.split == "test" and video.name_among(present) for video in videos)
    entries = []
    for video in videos:
        stays, name = keep and video.split == "test", video.name_among(present)
        try:
            check_id(video.video_id)
            if not stays and name is None:
                raise missing(video.video_id)
        except UnusableError as fault:
            drops.drop(fault.reason, f"{where}: {fault}", rows(video))
            continue
        worded = list(worded_captions(video.captions, f"{where}, {video.video_id}", drops))
        content = ListedVideo(
            captions=tuple(caption for _, caption in worded),
            places=tuple(place for place, _ in worded),
            num_given=len(video.captions),
            file=None if name is None else present[name],
            keep=stays,
            duration=video.duration,
        )
        entries.append(VideoEntry(video.video_id, content, video.split))
    return entries


def whole_video(
    video: VideoEntry, where: str, read: Callable[[str, ListedVideo], Features], absent: Features, drops: Drops
) -> Video | None:
    """The row of a listed video with the features of `read`, or `absent` ones where it is kept without content.

    None, dropped and counted, where `read` finds them unusable, or the video has no caption left.
    """
    listed: ListedVideo = video.content
    if not listed.captions:
        drops.drop(Reason.EMPTY_CAPTION, f"{where}, {video.video_id}: there is no caption that holds a word")
        return None
    try:
        return Video(video.video_id, listed.captions, read(video.video_id, listed))
    except UnusableError as fault:
        count_fault(fault, listed.keep, 1, drops)
        return Video(video.video_id, listed.captions, absent) if listed.keep else None


class AnnotatedListing(SourceSettings):
    """Settings of annotated data sets for both record kinds: annotations and folder of feature files."""

    name: ClassVar[str]
    published: ClassVar[AnnotatedDataSet]
    """Whose annotations these are."""

    annotations: str
    """Folder of the published annotation files."""
    feature_folder: str
    """Folder of frame features, <video id>.npy each: (time, dim) or (dim,); the 2D stream where there are two."""
    keep_missing: Literal["test", "never"] = "test"
    """test: a test video without usable features stays, its captions count as failures; so the number of queries is
    fixed. A test split of which no video has a file is left out. never: every video without features is dropped."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have features, and those that are kept without, in the order of the annotations.

        `VideoEntry.content` is a ListedVideo.
        """
        present = {name: name for name in self._feature_ids()}
        annotated = list(self._annotated(drops))
        return listed_videos(annotated, present, self.keep_missing, self.annotations, self._missing, drops, self._rows)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    def _annotated(self, drops: Drops) -> Iterable[AnnotatedVideo]:
        """The videos of the annotation files."""
        return read_annotated(self.published, self.annotations, drops)

    def _rows(self, video: AnnotatedVideo) -> int:  # noqa: ARG002  (one, whatever it holds)
        """The number of rows that a dropped video costs."""
        return 1

    def _missing(self, video_id: str) -> UnusableError:
        return UnusableError(Reason.MISSING_FILE, f"there is no file {self._location / f'{video_id}.npy'}")

    @property
    def _location(self) -> Location:
        return locate(self.feature_folder)

    def _feature_ids(self) -> Iterator[str]:
        """The names of all feature files without .npy, with or without annotations."""
        names = (file.name for file in storage.children(self._location))
        return (name.removesuffix(".npy") for name in names if name.endswith(".npy"))


class AnnotatedClips(AnnotatedListing):
    """All captions of a video share its clip, whose id is the video's.

    video = L2(pooled 2D) ⊕ L2(pooled 3D) (the 2D stream alone where there is no 3D), audio = the mean of its rows: as
    `HowTo100M`, so that a model trained there can be tested here. Audio may be missing: then a clip is without.
    Of training and validation only videos with a feature file are listed; the rows of the others are counted as
    missing_file. `keep_missing` controls test videos without one.
    """

    left_out_unset: ClassVar[frozenset[str]] = frozenset({"features_3d", "audio"})

    features_3d: str | None = None
    """Folder of the 3D stream, <video id>.npy each; feature_folder is that of the 2D stream then."""
    audio: str | None = None
    """Folder of audio features, pooled by their mean and not normalised."""
    pool: Pool = "max"
    """How the rows of a video become one vector, in both visual streams."""
    normalise: bool = True
    """Scale the vector of each visual stream to unit length; --no-normalise: do not scale them."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; dimensions of the first readable files."""
        return self._streams.specs()

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """One row per caption, in the order of the annotations."""
        content: ListedVideo = video.content
        name = content.file or video.video_id
        where = str(self._location / f"{name}.npy")
        features: Mapping[str, Float16[np.ndarray, " dim"]] = {}
        try:
            features = self._streams.read(name).features(0.0, None, where)
        except UnusableError as fault:
            count_fault(fault, content.keep, len(content.captions), drops)
            if not content.keep:
                return
            with suppress(UnusableError):  # a damaged sound leaves a test video with its pictures
                features = replace(self._streams, audio=None).read(name).features(0.0, None, where)
        for caption in content.captions:
            yield Clip(video.video_id, 0.0, content.duration, caption, features)

    def _rows(self, video: AnnotatedVideo) -> int:
        return max(1, len(video.captions))

    @cached_property
    def _streams(self) -> ClipStreams:
        places = [self._location, *([] if self.features_3d is None else [locate(self.features_3d)])]
        visual = tuple(FeatureFolder(place, self.pool, normalise=self.normalise) for place in places)
        audio = self.audio and FeatureFolder(locate(self.audio), "mean", normalise=False)
        return ClipStreams(visual, audio or None, self._feature_ids)


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
        return whole_video(video, self.annotations, self._frames, {}, drops)

    def _frames(self, video_id: str, listed: ListedVideo) -> Features:
        return {"video": self._folder.read(listed.file or video_id, self._dim)}

    @cached_property
    def _folder(self) -> FrameFolder:
        return FrameFolder(self._location)

    @cached_property
    def _dim(self) -> int:
        return self._folder.dim(self._feature_ids())


class _Msrvtt(AnnotatedListing):
    name: ClassVar[str] = "msrvtt"
    published = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    split: Literal["official", "1k-a"] = "official"
    """official: 6,513 / 497 / 2,990 videos with 20 captions each, as in the annotation files. 1k-a: MSRVTT_train.9k.csv
    and MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""

    def _annotated(self, drops: Drops) -> Iterable[AnnotatedVideo]:
        return read_msrvtt(self.annotations, self.split, drops)


class Msrvtt(_Msrvtt, AnnotatedClips):
    """Clips of MSR-VTT."""


class MsrvttVideos(_Msrvtt, AnnotatedFrames):
    """Whole videos of MSR-VTT."""


class _Msvd(AnnotatedListing):
    name: ClassVar[str] = "msvd"
    published = "msvd"

    annotations: str
    """Folder of captions_msvd.json, train_list.txt, val_list.txt and test_list.txt: 1,200 / 100 / 670 videos."""


class Msvd(_Msvd, AnnotatedClips):
    """Clips of MSVD."""


class MsvdVideos(_Msvd, AnnotatedFrames):
    """Whole videos of MSVD."""


class _DiDeMo(AnnotatedListing):
    name: ClassVar[str] = "didemo"
    published = "didemo"

    annotations: str
    """Folder of train_data.json, val_data.json and test_data.json: 8,395 / 1,065 / 1,004 videos, each with one
    paragraph."""


class DiDeMo(_DiDeMo, AnnotatedClips):
    """Clips of DiDeMo."""


class DiDeMoVideos(_DiDeMo, AnnotatedFrames):
    """Whole videos of DiDeMo."""


class _ActivityNet(AnnotatedListing):
    name: ClassVar[str] = "activitynet"
    published = "activitynet"

    annotations: str
    """Folder of train.json and val_1.json: 10,009 / 4,917 videos, each with one paragraph; val_1 becomes the split
    test."""


class ActivityNet(_ActivityNet, AnnotatedClips):
    """Clips of ActivityNet Captions."""


class ActivityNetVideos(_ActivityNet, AnnotatedFrames):
    """Whole videos of ActivityNet Captions."""
