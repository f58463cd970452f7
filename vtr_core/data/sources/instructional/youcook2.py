"""YouCook2's validation clips, the usual test of text-to-video retrieval, and their features."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from pydantic import PositiveFloat

from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import Pool
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.instructional.narration import Narration, Segment, usable
from vtr_core.data.sources.source import KEPT, Clip, Drops, VideoEntry

SPLIT = "test"


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
    fps: PositiveFloat = 1.0
    """Rows of the visual features a second."""
    fps_3d: PositiveFloat = 1.5
    """Rows of the 3D stream a second."""
    fps_audio: PositiveFloat = 1.0
    """Rows of the audio stream a second."""
    pool: Pool = "max"
    """How the rows of a clip become one vector, in both visual streams."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; InputError where no file can be read."""
        return self._heard.features()

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The annotated videos in the order of the annotations; `VideoEntry.content` is a tuple of Segment."""
        return [
            VideoEntry(entry.video_id, tuple(usable(entry.content.read(), _where(entry), drops)), SPLIT)
            for entry in self._heard.videos(drops)
        ]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from (segment.text.strip() for segment in video.content)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """The clips of a video in order of time, one per segment; those without features are counted under KEPT."""
        faults = Drops()
        found = _read(self._heard, video, faults)
        for reason, count in faults.counts.items():
            drops.drop(KEPT, f"{faults.examples[reason][0]} ({reason})", count)
        if self.audio is not None and faults.counts:
            found = {**_read(self._seen, video, Drops()), **found}
        for segment in video.content:
            clip = found.get((segment.start, segment.end, segment.text.strip()))
            yield _without_features(video.video_id, segment) if clip is None else clip

    @cached_property
    def _heard(self) -> HowTo100M:
        return HowTo100M(
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
        return HowTo100M(**{**self._heard.model_dump(), "audio": None})


def _where(entry: VideoEntry) -> str:
    return f"{entry.content.where}, {entry.video_id}"


def _read(source: HowTo100M, video: VideoEntry, faults: Drops) -> dict[tuple[float, float, str], Clip]:
    """The clips that have features, by start, end and caption."""
    rows = tuple((segment.start, segment.end, segment.text) for segment in video.content)
    entry = VideoEntry(video.video_id, Narration(rows))
    return {(clip.start, clip.end, clip.caption): clip for clip in source.clips(entry, faults)}


def _without_features(video_id: str, segment: Segment) -> Clip:
    clip_id = f"{video_id}:{segment.start}-{segment.end}"
    return Clip(clip_id, segment.start, segment.end, segment.text.strip(), {})
