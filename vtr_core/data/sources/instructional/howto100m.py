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
from vtr_core.data.sources.features.feature_folder import ClipStreams, FeatureFolder
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
from vtr_core.data.sources.source import KEPT, Clip, Drops, VideoEntry, worded_captions
from vtr_core.storage import locate
from vtr_core.unusable import UnusableError

Span = tuple[str, float, float | None, str]
"""Id, start, end (None for the whole video) and caption of a clip."""


class HowTo100M(SourceSettings):
    """Clips from narration; video = L2(pooled 2D) ⊕ L2(pooled 3D) (the 2D stream alone where there is no 3D).

    A video whose file of a visual stream is missing or damaged is dropped. Audio may be missing: then its clips, or
    those after its end, are without. A damaged audio file drops the video like any other. A file of one vector serves
    all clips of its video. Captions without times make one clip per video; its end is 0 where no file tells the
    duration.
    """

    name: ClassVar[str] = "howto100m"
    flag_2d: ClassVar[str] = "--fps-2d"
    """The flag of `fps_2d`, for messages."""

    features_2d: str
    """Folder of the 2D stream, <video id>.npy each: (time, dim), or (dim,) for the whole video."""
    annotations: str
    """Captions: CSV with video_id, start, end, text (or video_id, caption), HowTo100M's JSON, or a folder of CSVs."""
    features_3d: str | None = None
    """Folder of the 3D stream."""
    audio: str | None = None
    """Folder of audio features, pooled by their mean and not normalised."""
    fps_2d: PositiveFloat | None = None
    """Rows of the 2D stream a second (default: as vtr extract recorded, else 1)."""
    fps_3d: PositiveFloat | None = None
    """Rows of the 3D stream a second (default: as vtr extract recorded, else 1.5)."""
    fps_audio: PositiveFloat | None = None
    """Rows of the audio stream a second (default: as vtr extract recorded, else 1)."""
    min_time: NonNegativeFloat = 5.0
    """Minimum duration of a clip in seconds; 0 makes every caption a clip."""
    clips_from: Annotated[Literal["disjoint", "published"], tyro.conf.arg(name="clips")] = "disjoint"
    """disjoint: captions in order, joined until they last `min_time`, each in one clip. published: a clip for every
    caption, extended to its nearer neighbours until it lasts `min_time`, as HowTo100M's own loader makes them; clips
    overlap, and there are as many as captions."""
    pool: Pool = "max"
    """How the rows of a clip become one vector, in both visual streams."""

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, with the rates that are used; without `clips_from` for disjoint clips, as in older data
        sets."""
        settings = super().settings() | self.rates
        if self.clips_from == "disjoint":
            del settings["clips_from"]
        return settings

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; dimensions from the first readable files."""
        return self._streams.specs()

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The annotated videos in the order of the annotations; `VideoEntry.content` is a Narration."""
        entries = []
        for video_id, narration in read_narrations(self.annotations):
            try:
                check_id(video_id)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{narration.where}: {fault}", max(1, len(narration.read())))
            else:
                entries.append(VideoEntry(video_id, narration))
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions that the clips of `videos` are made of, each once."""
        for video, rows in zip(videos, read_all(video.content for video in videos), strict=True):
            if video.content.timed:
                yield from (segment.text.strip() for segment in _segments(video, rows, Drops()))
            else:
                yield from _untimed(video, rows, Drops())

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """The clips of a video in order of time."""
        spans = self._spans(video, drops)
        if not spans:
            return
        try:
            arrays = self._streams.read(video.video_id)
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault), len(spans))
            return
        for clip_id, start, end, caption in spans:
            try:
                features = arrays.features(start, end, clip_id)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{clip_id}: {fault}")
            else:
                yield Clip(clip_id, start, arrays.duration if end is None else end, caption, features)

    @cached_property
    def _streams(self) -> ClipStreams:
        visual = [_folder(self.features_2d, self.pool, self.fps_2d, "2d", self.flag_2d)]
        if self.features_3d is not None:
            visual.append(_folder(self.features_3d, self.pool, self.fps_3d, "3d", "--fps-3d"))
        audio = None
        if self.audio is not None:
            audio = replace(_folder(self.audio, "mean", self.fps_audio, "audio", "--fps-audio"), normalise=False)
        return ClipStreams(tuple(visual), audio, partial(video_ids, self.annotations))

    @property
    def rates(self) -> dict[str, float]:
        """Rows a second of each stream, by the setting's name; those of streams without a folder are the published."""
        visual = [folder.fps for folder in self._streams.visual]
        audio = self._streams.audio
        return {
            "fps_2d": visual[0],
            "fps_3d": visual[1] if len(visual) > 1 else self.fps_3d or PUBLISHED["3d"],
            "fps_audio": audio.fps if audio is not None else self.fps_audio or PUBLISHED["audio"],
        }

    def _spans(self, video: VideoEntry, drops: Drops) -> list[Span]:
        """The clips that the video's usable captions make; several captions of one span share its clip id."""
        narration: Narration = video.content
        if not narration.timed:
            return [(video.video_id, 0.0, None, caption) for caption in _untimed(video, narration.read(), drops)]
        cut = overlapping if self.clips_from == "published" else merge
        made = cut(_segments(video, narration.read(), drops), self.min_time)
        return [(f"{video.video_id}:{s.start}-{s.end}", s.start, s.end, s.text) for s in made]


def _folder(uri: str, pool: Pool, given: float | None, kind: Kind, flag: str) -> FeatureFolder:
    return FeatureFolder(locate(uri), pool, rows_per_second(uri, given, kind, flag), flag=flag)


def _segments(video: VideoEntry, rows: Rows, drops: Drops) -> list[Segment]:
    return usable(rows, f"{video.content.where}, {video.video_id}", drops)


def _untimed(video: VideoEntry, rows: Rows, drops: Drops) -> list[str]:
    captions = (caption for _, _, caption in rows)
    return [caption for _, caption in worded_captions(captions, f"{video.content.where}, {video.video_id}", drops)]


class _Segments(HowTo100M):
    """HowTo100M's clips by the flags of YouCook2."""

    flag_2d: ClassVar[str] = "--fps"


class YouCook2(SourceSettings):
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
    features_3d: str | None = None
    """Folder of the 3D stream."""
    audio: str | None = None
    """Folder of audio features, pooled by their mean and not normalised."""
    fps: PositiveFloat | None = None
    """Rows of the visual features a second (default: as vtr extract recorded, else 1)."""
    fps_3d: PositiveFloat | None = None
    """Rows of the 3D stream a second (default: as vtr extract recorded, else 1.5)."""
    fps_audio: PositiveFloat | None = None
    """Rows of the audio stream a second (default: as vtr extract recorded, else 1)."""
    pool: Pool = "max"
    """How the rows of a clip become one vector, in both visual streams."""

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, with the rates that are used."""
        rates = self._heard.rates
        return {**super().settings(), "fps": rates.pop("fps_2d"), **rates}

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; InputError where no file can be read."""
        return self._heard.features()

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The annotated videos in the order of the annotations; `VideoEntry.content` is a tuple of Segment."""
        return [
            VideoEntry(entry.video_id, tuple(_segments(entry, entry.content.read(), drops)), "test")
            for entry in self._heard.videos(drops)
        ]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from (segment.text.strip() for segment in video.content)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """The clips of a video in order of time, one per segment; those without features are counted under KEPT."""
        faults = Drops()
        clips = _read(self._heard, video, faults)
        for reason, count in faults.counts.items():
            drops.drop(KEPT, f"{faults.examples[reason][0]} ({reason})", count)
        if self.audio is not None and faults.counts:
            clips = {**_read(self._seen, video, Drops()), **clips}
        for segment in video.content:
            clip = clips.get((segment.start, segment.end, segment.text.strip()))
            clip_id = f"{video.video_id}:{segment.start}-{segment.end}"
            yield clip or Clip(clip_id, segment.start, segment.end, segment.text.strip(), {})

    @cached_property
    def _heard(self) -> HowTo100M:
        return _Segments(
            features_2d=self.feature_folder,
            annotations=self.annotations,
            features_3d=self.features_3d,
            audio=self.audio,
            fps_2d=self.fps,
            fps_3d=self.fps_3d,
            fps_audio=self.fps_audio,
            min_time=0.0,
            pool=self.pool,
        )

    @cached_property
    def _seen(self) -> HowTo100M:
        """The source without audio, for videos whose audio file is unusable."""
        return _Segments(**{**self._heard.model_dump(), "audio": None})


def _read(source: HowTo100M, video: VideoEntry, faults: Drops) -> dict[tuple[float, float, str], Clip]:
    """The clips that have features, by start, end and caption."""
    rows = tuple((segment.start, segment.end, segment.text) for segment in video.content)
    entry = VideoEntry(video.video_id, Narration(rows))
    return {(clip.start, clip.end, clip.caption): clip for clip in source.clips(entry, faults)}
