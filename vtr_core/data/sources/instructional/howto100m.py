"""Narrated videos with features in one file per video and stream: HowTo100M, folders like it, and YouCook2."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

import tyro
from pydantic import NonNegativeFloat, PositiveFloat

from vtr_core.config.override import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import PUBLISHED, Kind, Pool, rows_per_second
from vtr_core.data.sources.features.feature_folder import ClipArrays, ClipStreams, FeatureFolder, Features
from vtr_core.data.sources.files import check_id
from vtr_core.data.sources.instructional.narration import (
    Narration,
    Rows,
    Segment,
    merge,
    overlapping,
    read_all,
    read_narrations,
    usable,
    video_ids,
)
from vtr_core.data.sources.source import KEPT, Clip, Drops, VideoEntry, count_fault, worded_captions
from vtr_core.storage import locate
from vtr_core.unusable import UnusableError


class NarratedVideos(SourceSettings):
    """Narration and features of videos, for training and for testing alike.

    video = L2(pooled 2D) ⊕ L2(pooled 3D) (the 2D stream alone where there is no 3D).
    """

    annotations: str
    """Captions with their times."""
    features_3d: str | None = None
    """Folder of the 3D stream."""
    audio: str | None = None
    """Folder of audio features, pooled by their mean and not normalised."""
    fps_3d: PositiveFloat | None = None
    """Rows of the 3D stream a second (default: as vtr extract recorded, else 1.5)."""
    fps_audio: PositiveFloat | None = None
    """Rows of the audio stream a second (default: as vtr extract recorded, else 1)."""
    pool: Pool = "max"
    """How the rows of a clip become one vector, in both visual streams."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; dimensions from the first readable files."""
        return self._streams.specs()

    def _narrations(self, drops: Drops) -> Iterator[tuple[str, Narration]]:
        """The annotated videos in the order of the annotations; ids that cannot name a file are dropped."""
        for video_id, narration in read_narrations(self.annotations):
            try:
                check_id(video_id)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{narration.where}: {fault}", max(1, len(narration.read())))
            else:
                yield video_id, narration

    @property
    def _first_stream(self) -> tuple[str, float | None, str]:
        """Folder and rate of the 2D stream, and the flag of its rate."""
        raise NotImplementedError

    @cached_property
    def _streams(self) -> ClipStreams:
        uri_2d, fps_2d, flag_2d = self._first_stream
        visual = [self._folder(uri_2d, fps_2d, "2d", flag_2d)]
        if self.features_3d is not None:
            visual.append(self._folder(self.features_3d, self.fps_3d, "3d", "--fps-3d"))
        audio = None
        if self.audio is not None:
            audio = self._folder(self.audio, self.fps_audio, "audio", "--fps-audio")
            audio = replace(audio, how="mean", normalise=False)
        return ClipStreams(tuple(visual), audio, partial(video_ids, self.annotations))

    def _folder(self, uri: str, fps: float | None, kind: Kind, flag: str) -> FeatureFolder:
        return FeatureFolder(locate(uri), self.pool, rows_per_second(uri, fps, kind, flag), flag=flag)

    @property
    def _rates(self) -> dict[str, float]:
        """Rows a second of each stream, by the setting's name; those of streams without a folder are the published."""
        streams = (*self._streams.visual, *([] if self._streams.audio is None else [self._streams.audio]))
        fallback = {"fps_3d": self.fps_3d or PUBLISHED["3d"], "fps_audio": self.fps_audio or PUBLISHED["audio"]}
        return fallback | {str(s.flag).removeprefix("--").replace("-", "_"): s.fps for s in streams}


class HowTo100M(NarratedVideos):
    """Clips from narration.

    A video whose file of a visual stream is missing or damaged is dropped. Audio may be missing: then its clips, or
    those after its end, are without. A damaged audio file drops the video like any other. A file of one vector serves
    all clips of its video. Captions without times make one clip per video; its end is 0 where no file tells the
    duration.
    """

    name: ClassVar[str] = "howto100m"

    annotations: str
    """Captions: CSV with video_id, start, end, text (or video_id, caption), HowTo100M's JSON, or a folder of CSVs."""
    features_2d: str
    """Folder of the 2D stream, <video id>.npy each: (time, dim), or (dim,) for the whole video."""
    fps_2d: PositiveFloat | None = None
    """Rows of the 2D stream a second (default: as vtr extract recorded, else 1)."""
    min_time: NonNegativeFloat = 5.0
    """Minimum duration of a clip in seconds; 0 makes every caption a clip."""
    clips_from: Annotated[Literal["disjoint", "published"], tyro.conf.arg(name="clips")] = "disjoint"
    """disjoint: captions in order, joined until they last `min_time`, each in one clip. published: a clip for every
    caption, extended to its nearer neighbours until it lasts `min_time`, as HowTo100M's own loader makes them; clips
    overlap, and there are as many as captions."""

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, with the rates that are used; without `clips_from` for disjoint clips, as in older data
        sets."""
        settings = super().settings() | self._rates
        if self.clips_from == "disjoint":
            del settings["clips_from"]
        return settings

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The annotated videos in the order of the annotations; `VideoEntry.content` is a Narration."""
        return [VideoEntry(video_id, narration) for video_id, narration in self._narrations(drops)]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions that the clips of `videos` are made of, each once."""
        for video, rows in zip(videos, read_all(video.content for video in videos), strict=True):
            read = _segments if video.content.timed else _untimed
            yield from (segment.text.strip() for segment in read(video.video_id, video.content, rows, Drops()))

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """The clips of a video in order of time; several captions of one span share its clip id."""
        spans = self._spans(video, drops)
        if not spans:
            return
        try:
            arrays = self._streams.read(video.video_id)
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault), len(spans))
            return
        timed = video.content.timed
        for span in spans:
            clip_id = span.clip_id(video.video_id) if timed else video.video_id
            try:
                features = arrays.features(span.start, span.end if timed else None, clip_id)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{clip_id}: {fault}")
            else:
                yield Clip(clip_id, span.start, span.end if timed else arrays.duration, span.text, features)

    def _spans(self, video: VideoEntry, drops: Drops) -> list[Segment]:
        """The clips that the video's usable captions make."""
        narration: Narration = video.content
        if not narration.timed:
            return _untimed(video.video_id, narration, narration.read(), drops)
        cut = overlapping if self.clips_from == "published" else merge
        return cut(_segments(video.video_id, narration, narration.read(), drops), self.min_time)

    @property
    def _first_stream(self) -> tuple[str, float | None, str]:
        return self.features_2d, self.fps_2d, "--fps-2d"


def _segments(video_id: str, narration: Narration, rows: Rows, drops: Drops) -> list[Segment]:
    return usable(rows, f"{narration.where}, {video_id}", drops)


def _untimed(video_id: str, narration: Narration, rows: Rows, drops: Drops) -> list[Segment]:
    """The captions of a whole video, as segments without times."""
    texts = worded_captions((text for _, _, text in rows), f"{narration.where}, {video_id}", drops)
    return [Segment(0.0, 0.0, text) for _, text in texts]


class YouCook2(NarratedVideos):
    """One clip per annotated segment, with its caption; features as for HowTo100M, so that its models can be tested.

    Every annotated segment is a row of the split `test`, whatever its features: a clip whose video file is missing or
    damaged, or that begins after its end, stays without, and its caption counts as a failure. So does a clip whose
    audio cannot be had, with video alone. Two captions of the same segment are captions of one clip. An annotation
    without a word or a time is at fault and dropped. Where no video file can be read at all the ingest is an error.
    """

    name: ClassVar[str] = "youcook2"

    annotations: str
    """The file validation_youcook.csv, or any CSV with video_id, start, end (seconds) and text."""
    feature_folder: str
    """Folder of the visual features, <video id>.npy each: (time, dim); the 2D stream where there are two."""
    fps: PositiveFloat | None = None
    """Rows of the visual features a second (default: as vtr extract recorded, else 1)."""

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, with the rates that are used."""
        return {**super().settings(), **self._rates}

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The annotated videos in the order of the annotations; `VideoEntry.content` is a tuple of Segment."""
        return [
            VideoEntry(video_id, tuple(_segments(video_id, narration, narration.read(), drops)), "test")
            for video_id, narration in self._narrations(drops)
        ]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from (segment.text.strip() for segment in video.content)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """The clips of a video in order of time, one per segment; those without features are counted under KEPT."""
        segments: tuple[Segment, ...] = video.content
        arrays = self._arrays(video.video_id, len(segments), drops) if segments else []
        for segment in segments:
            clip_id = segment.clip_id(video.video_id)
            features = _first_usable(arrays, segment, clip_id, drops)
            yield Clip(clip_id, segment.start, segment.end, segment.text.strip(), features)

    def _arrays(self, video_id: str, rows: int, drops: Drops) -> list[ClipArrays]:
        """The arrays of a video, and those without its sound: none where a visual one is unusable; faults count."""
        arrays = []
        for streams in (self._streams, replace(self._streams, audio=None)):
            try:
                arrays.append(streams.read(video_id))
            except UnusableError as fault:
                if streams is self._streams:
                    count_fault(fault, True, rows, drops)
        return arrays

    @property
    def _first_stream(self) -> tuple[str, float | None, str]:
        return self.feature_folder, self.fps, "--fps"


def _first_usable(arrays: Sequence[ClipArrays], segment: Segment, clip_id: str, drops: Drops) -> Features:
    """The features that the first of the `arrays` that can be used has of a segment; none where none can."""
    for number, own in enumerate(arrays):
        try:
            return own.features(segment.start, segment.end, clip_id)
        except UnusableError as fault:
            if number == 0:
                drops.drop(KEPT, f"{clip_id}: {fault} ({fault.reason})")
    return {}
