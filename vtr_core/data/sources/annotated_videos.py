"""Captioned videos of published lists with a file or folder each: as clips with pooled features, or as whole videos."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from vtr_core.data.sources.published_captions import AnnotatedDataSet, AnnotatedVideo, read_annotated, read_msrvtt
from vtr_core.data.sources.source import Clip, Drops, Video, VideoEntry, count_fault, worded_captions
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


class ListedVideos(SourceSettings):
    """Videos that annotations or a table list, with their captions, and with a file or folder of content each.

    A caption without a word is left out and counted. Videos without content, unless they are kept, and ids that cannot
    name a file, are dropped.
    """

    name: ClassVar[str]

    keep_missing: Literal["test", "never"] = "test"
    """test: a test video without usable content stays, its captions count as failures; so the number of queries is
    fixed. A test split of which no video has content is left out. never: every such video is dropped."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have content, and those that are kept without, in the order of the annotations or table.

        `VideoEntry.content` is a ListedVideo.
        """
        videos, present = list(self._listed(drops)), self._files()
        has_tests = any(video.split == "test" and video.name_among(present) for video in videos)
        entries = []
        for video in videos:
            keep = has_tests and video.split == "test" and self.keep_missing == "test"
            name = video.name_among(present)
            try:
                check_id(video.video_id)
                if not keep and name is None:
                    raise self._missing(video.video_id)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{self._origin}: {fault}", self._rows(video))
                continue
            worded = list(worded_captions(video.captions, f"{self._origin}, {video.video_id}", drops))
            content = ListedVideo(
                captions=tuple(caption for _, caption in worded),
                places=tuple(place for place, _ in worded),
                num_given=len(video.captions),
                file=None if name is None else present[name],
                keep=keep,
                duration=video.duration,
            )
            entries.append(VideoEntry(video.video_id, content, video.split))
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    @abstractmethod
    def _listed(self, drops: Drops) -> Iterable[AnnotatedVideo]:
        """The videos of the annotations or table."""

    @property
    @abstractmethod
    def _origin(self) -> str:
        """The annotations or table, for messages."""

    @abstractmethod
    def _files(self) -> Mapping[str, str]:
        """The names of files or folders that are there, by the names of their videos."""

    @abstractmethod
    def _missing(self, video_id: str) -> UnusableError:
        """The error for a video without a file or folder."""

    def _rows(self, video: AnnotatedVideo) -> int:  # noqa: ARG002  (one, whatever it holds)
        """The number of rows that a dropped video costs."""
        return 1


class WholeVideos(ListedVideos):
    """Every listed video is one row with all its captions; one without any is dropped and counted."""

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The row of a video, its captions in the order of the annotations."""
        listed: ListedVideo = video.content
        if not listed.captions:
            message = f"{self._origin}, {video.video_id}: there is no caption that holds a word"
            drops.drop(Reason.EMPTY_CAPTION, message)
            return None
        try:
            return Video(video.video_id, listed.captions, self._features(video.video_id, listed))
        except UnusableError as fault:
            count_fault(fault, listed.keep, 1, drops)
            return Video(video.video_id, listed.captions, self._absent(listed)) if listed.keep else None

    @abstractmethod
    def _features(self, video_id: str, listed: ListedVideo) -> Features:
        """The features of a video; raises UnusableError where its content cannot be used."""

    def _absent(self, listed: ListedVideo) -> Features:  # noqa: ARG002  (none, whatever its captions)
        """The features of a video that is kept without content."""
        return {}


class AnnotatedListing(ListedVideos):
    """Videos of a data set's published annotations, with a feature file each."""

    published: ClassVar[AnnotatedDataSet]
    """Whose annotations these are."""

    annotations: str
    """Folder of the published annotation files: captions_msvd.json, train_list.txt, val_list.txt and test_list.txt of
    MSVD; train_data.json, val_data.json and test_data.json of DiDeMo; train.json and val_1.json of ActivityNet."""
    feature_folder: str
    """Folder of frame features, <video id>.npy each: (time, dim) or (dim,); the 2D stream where there are two."""

    def _listed(self, drops: Drops) -> Iterable[AnnotatedVideo]:
        return read_annotated(self.published, self.annotations, drops)

    @property
    def _origin(self) -> str:
        return self.annotations

    def _files(self) -> Mapping[str, str]:
        return {name: name for name in self._feature_ids()}

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
    missing_file.
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


class AnnotatedFrames(AnnotatedListing, WholeVideos):
    """Every video is one row, with all its captions and all its frames, as they are: neither pooled nor normalised.

    Files may have further axes, such as (time, patches, dim); they are flattened into the values of a frame. Of
    training and validation only videos with a feature file are listed; the others are counted as missing_file.
    """

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, with the dimension of a frame of the first readable files."""
        return (FeatureSpec("video", self._dim),)

    def _features(self, video_id: str, listed: ListedVideo) -> Features:
        return {"video": FrameFolder(self._location).read(listed.file or video_id, self._dim)}

    @cached_property
    def _dim(self) -> int:
        return FrameFolder(self._location).dim(self._feature_ids())


class _Msrvtt(AnnotatedListing):
    name: ClassVar[str] = "msrvtt"
    published = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    split: Literal["official", "1k-a"] = "official"
    """official: 6,513 / 497 / 2,990 videos with 20 captions each, as in the annotation files. 1k-a: MSRVTT_train.9k.csv
    and MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""

    def _listed(self, drops: Drops) -> Iterable[AnnotatedVideo]:
        return read_msrvtt(self.annotations, self.split, drops)


class Msrvtt(_Msrvtt, AnnotatedClips):
    """Clips of MSR-VTT."""


class MsrvttVideos(_Msrvtt, AnnotatedFrames):
    """Whole videos of MSR-VTT."""


class Msvd(AnnotatedClips):
    """Clips of MSVD: 1,200 / 100 / 670 videos."""

    name: ClassVar[str] = "msvd"
    published = "msvd"


class MsvdVideos(AnnotatedFrames):
    """Whole videos of MSVD: 1,200 / 100 / 670."""

    name: ClassVar[str] = "msvd"
    published = "msvd"


class DiDeMo(AnnotatedClips):
    """Clips of DiDeMo: 8,395 / 1,065 / 1,004 videos, each with one paragraph."""

    name: ClassVar[str] = "didemo"
    published = "didemo"


class DiDeMoVideos(AnnotatedFrames):
    """Whole videos of DiDeMo: 8,395 / 1,065 / 1,004, each with one paragraph."""

    name: ClassVar[str] = "didemo"
    published = "didemo"


class ActivityNet(AnnotatedClips):
    """Clips of ActivityNet Captions: 10,009 / 4,917 videos, each with one paragraph; val_1 becomes the split test."""

    name: ClassVar[str] = "activitynet"
    published = "activitynet"


class ActivityNetVideos(AnnotatedFrames):
    """Whole videos of ActivityNet Captions: 10,009 / 4,917, each with one paragraph; val_1 becomes the split test."""

    name: ClassVar[str] = "activitynet"
    published = "activitynet"
