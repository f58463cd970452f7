"""Published data sets of captioned videos, as clips with pooled features or as whole videos."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float16

from vtr_core import storage
from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import Pool, to_float16
from vtr_core.data.sources.features.feature_folder import FeatureFolder, FrameFolder
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import (
    AnnotatedVideo,
    Clip,
    Drops,
    Video,
    VideoEntry,
    count_fault,
    listed_videos,
    worded_captions,
)
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
        video = FeatureSpec("video", sum(self._dims))
        return (video,) if self._sounds is None else (video, FeatureSpec("audio", self._audio_dim))

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """One row per caption, in the order of the annotations."""
        content: Captioned = video.content
        features: dict[str, Float16[np.ndarray, " dim"]] = {}
        try:
            features["video"] = self._seen(content.file)
            heard = self._heard(content.file)
            if heard is not None:
                features["audio"] = heard
        except UnusableError as fault:
            count_fault(fault, content.keep, len(content.captions), drops)
            if not content.keep:
                return
        for caption in content.captions:
            yield Clip(video.video_id, 0.0, content.duration, caption, features)

    def _rows(self, video: AnnotatedVideo) -> int:
        return max(1, len(video.captions))

    def _seen(self, file: str) -> Float16[np.ndarray, " dim"]:
        parts = [
            folder.clip(file, folder.read(file, dim), 0.0, None)
            for folder, dim in zip(self._streams, self._dims, strict=True)
        ]
        return to_float16(np.concatenate(parts), str(self._streams[0].file(file)))

    def _heard(self, file: str) -> Float16[np.ndarray, " dim"] | None:
        """The audio of a video; None without a folder of audio, or its file."""
        if self._sounds is None or not storage.exists(self._sounds.file(file)):
            return None
        vector = self._sounds.clip(file, self._sounds.read(file, self._audio_dim), 0.0, None)
        return to_float16(vector, str(self._sounds.file(file)))

    @cached_property
    def _streams(self) -> list[FeatureFolder]:
        places = [self._location, *([] if self.features_3d is None else [locate(self.features_3d)])]
        return [FeatureFolder(place, self.pool, normalise=self.normalise) for place in places]

    @cached_property
    def _sounds(self) -> FeatureFolder | None:
        return None if self.audio is None else FeatureFolder(locate(self.audio), "mean", normalise=False)

    @cached_property
    def _dims(self) -> list[int]:
        return [folder.dim(self._feature_ids()) for folder in self._streams]

    @cached_property
    def _audio_dim(self) -> int:
        assert self._sounds is not None
        return self._sounds.dim(self._feature_ids())


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
