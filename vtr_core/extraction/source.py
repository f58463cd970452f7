"""Extracted videos as ingest sources: pooled clips, whole videos, or clips with stored frames."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float16, Int64

from vtr_core.data.records.arrays import MAX_CELL_BYTES
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.data.sources.captioned_videos import DATA_SETS, annotated_videos, captioned_videos
from vtr_core.data.sources.features.feature_arrays import Pool
from vtr_core.data.sources.pairs import PairRow
from vtr_core.data.sources.source import Clip, Drops, FrameClip, Video, VideoEntry, count_fault
from vtr_core.data.sources.video_files import Inventory
from vtr_core.extraction.features import (
    Chosen,
    ClipPooling,
    Extracted,
    VideoFeatures,
    columns,
    evenly_kept,
    feature_names,
    video_features,
)
from vtr_core.extraction.pictures import THUMBNAILS_PER_SECOND, FrameSettings, thumbnails, times
from vtr_core.unusable import Reason, UnusableError

S = TypeVar("S", bound="VideoFiles")


@dataclass(frozen=True)
class VideoFiles:
    """Video files with captions, and the recipes of their features.

    `holding` adds the extracted features of a shard's videos before the shard is written.
    """

    name: ClassVar[str] = "extract"

    inventory: Inventory
    captions_table: str
    annotations: str | None
    chosen: tuple[Chosen, ...]
    pool: Pool = "mean_std"
    normalise: bool = True
    thumbnail_size: int | None = None
    """Pixels of a thumbnail's long side; None for none."""
    keep_columns: tuple[str, ...] = ()
    """Columns of the table of captions to keep as text."""
    extracted: Mapping[str, Extracted] = field(default_factory=dict)
    """Extracted features by video id."""

    def settings(self) -> dict[str, Any]:
        """The given settings, and the recipes with their fingerprints."""
        settings = {
            "videos": self.inventory.place,
            "anywhere": self.inventory.anywhere,
            "captions": self.captions_table,
            "annotations": self.annotations,
            "recipes": [choice.settings() for choice in self.chosen],
        }
        if self.thumbnail_size is not None:
            settings["thumbnails"] = self.thumbnail_size
        return {**settings, "keep_columns": list(self.keep_columns)} if self.keep_columns else settings

    @property
    def requested(self) -> tuple[Chosen, ...]:
        """The recipes of each video: features, then pictures."""
        small = () if self.thumbnail_size is None else (thumbnails(self.thumbnail_size),)
        return (*self.chosen, *small)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The captioned videos; `VideoEntry.content` is a CaptionedVideo."""
        for name in DATA_SETS:
            if name == self.captions_table and self.annotations is not None:
                return annotated_videos(self.inventory, name, self.annotations, drops)
        return captioned_videos(self.inventory, self.captions_table, drops, self.keep_columns)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from (row.caption for row in video.content.rows)

    def thumbnails(self, video: VideoEntry) -> Iterator[Thumbnail]:
        """The thumbnail of every clip: the picture nearest to the middle of its span."""
        features = self.extracted.get(video.video_id)
        if self.thumbnail_size is not None and isinstance(features, VideoFeatures):
            pictures = features.pictures[len(self.requested) - 1]
            for item_id, start, end, row in self._middles(video, features):
                yield Thumbnail(item_id, start, end, pictures[row])

    def trimmed(self, video: VideoEntry, extracted: Extracted) -> Extracted:
        """`extracted` without the pictures that no row of `video` uses, to save memory."""
        if isinstance(extracted, UnusableError):
            return extracted
        pictures = {}
        for position, rows in self._shown(video, extracted).items():
            pictures[position] = np.full(len(extracted.pictures[position]), None)
            pictures[position][rows] = extracted.pictures[position][rows]
        return replace(extracted, pictures=pictures)

    def _shown(self, video: VideoEntry, features: VideoFeatures) -> dict[int, list[int]]:
        """Indices of the pictures that are written, by recipe position."""
        if self.thumbnail_size is None:
            return {}
        return {len(self.requested) - 1: [row for *_, row in self._middles(video, features)]}

    def _middles(self, video: VideoEntry, features: VideoFeatures) -> Iterator[tuple[str, float, float, int]]:
        """Id, start and end of every span, and the index of its thumbnail."""
        shown = times(len(features.pictures[len(self.requested) - 1]), THUMBNAILS_PER_SECOND)
        for item_id, start, end in self._spans(video, features.duration):
            yield item_id, start, end, int(np.abs(shown - (start + end) / 2).argmin())

    def _spans(self, video: VideoEntry, duration: float) -> Iterator[tuple[str, float, float]]:
        """Id, start and end of the clips that begin before the end of the video, without duplicates."""
        first_rows = {row.clip_id: row for row in reversed(video.content.rows)}
        return spans(reversed(first_rows.values()), duration)

    def holding(self: S, extracted: Mapping[str, Extracted]) -> S:
        """This source with the extracted features of some videos."""
        return replace(self, extracted=extracted)

    def _features(self, video: VideoEntry, drops: Drops) -> VideoFeatures | None:
        """The features of a video; None, counted, where it is unusable."""
        extracted = self.extracted[video.video_id]
        if isinstance(extracted, UnusableError):
            count_fault(extracted, video.content.keep, video.content.num_rows, drops)
            return None
        return extracted


@dataclass(frozen=True)
class VideoFileClips(VideoFiles):
    """Videos as clips; the features of a modality's recipes are concatenated in the given order."""

    def settings(self) -> dict[str, Any]:
        """The source's settings, with the pooling of a clip's rows."""
        return {**super().settings(), "pool": self.pool, "normalise": self.normalise}

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and `audio`, where there are recipes of them."""
        factor = 2 if self.pool == "mean_std" else 1
        sizes = {name: sum(self.chosen[i].recipe.dim for i in of) for name, of in columns(self.chosen).items()}
        return tuple(FeatureSpec(name, factor * size) for name, size in sizes.items())

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """A clip for each row of the table; rows that begin after the end of the video are dropped."""
        features = self._features(video, drops)
        if features is None:
            yield from (_without_features(row) for row in video.content.rows if video.content.keep)
            return
        for row in video.content.rows:
            try:
                yield self._clip(features, row)
            except UnusableError as fault:
                count_fault(UnusableError(fault.reason, f"{row.clip_id}: {fault}"), video.content.keep, 1, drops)
                if video.content.keep:
                    yield _without_features(row)

    def _clip(self, video: VideoFeatures, row: PairRow) -> Clip:
        start, end = span_of(row, video.duration)
        whole = [choice.recipe.name for choice in self.chosen if choice.recipe.rows_per_second is None]
        if whole and row.start is not None:
            raise UnusableError(Reason.BAD_TIME, f"{whole[0]} sees whole videos alone; leave out start and end")
        how = ClipPooling(self.pool, self.normalise)
        vectors = {name: how.vector(self.chosen, name, video, (start, end)) for name in columns(self.chosen)}
        features: dict[str, Float16[np.ndarray, " dim"]] = {
            name: vector for name, vector in vectors.items() if vector is not None
        }
        if not features:
            raise UnusableError(Reason.NO_SOUND, f"there is no sound from {start:g} to {end:g} s")
        return Clip(row.clip_id, start, end, row.caption, features, dict(row.metadata))


@dataclass(frozen=True)
class VideoFileVideos(VideoFiles):
    """Videos as a whole: all rows of every recipe, with all captions of the video."""

    def settings(self) -> dict[str, Any]:
        """The source's settings, with the record kind."""
        return {**super().settings(), "records": "videos"}

    def features(self) -> tuple[FeatureSpec, ...]:
        """The features, named by modality where it has one recipe, else by recipe."""
        return tuple(FeatureSpec(name, self.chosen[i].recipe.dim) for i, name in feature_names(self.chosen).items())

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The whole video; None, with a drop, where its captions have start and end times."""
        extracted = self._features(video, drops)
        rows = video.content.rows
        captions = [row.caption for row in rows]
        if extracted is None:
            return Video(video.video_id, captions, {}) if video.content.keep else None
        if any(row.start is not None for row in rows):
            message = f"{video.video_id}: its captions have times; leave them out, or keep clips (--records clips)"
            drops.drop(Reason.BAD_TIME, message, video.content.num_rows)
            return None
        features = video_features(self.chosen, extracted)
        if not features:
            message = f"{video.video_id} has no sound, and no recipe sees its pictures"
            drops.drop(Reason.NO_SOUND, message, len(captions))
            return None
        return Video(video.video_id, captions, features)

    def _spans(self, video: VideoEntry, duration: float) -> Iterator[tuple[str, float, float]]:
        yield video.video_id, 0.0, duration


def spans(rows: Iterable[PairRow], duration: float) -> Iterator[tuple[str, float, float]]:
    """Id, start and end of the rows that begin before the end of the video."""
    for row in rows:
        start, end = _span(row, duration)
        if start < duration:
            yield row.clip_id, start, end


def span_of(row: PairRow, duration: float) -> tuple[float, float]:
    """Start and end of a row in seconds; UnusableError for one that begins after the end of the video."""
    start, end = _span(row, duration)
    if start >= duration:
        message = f"it begins at {start:g} s, and the video ends after {duration:g} s"
        raise UnusableError(Reason.OUTSIDE_FEATURES, message)
    return start, end


def _span(row: PairRow, duration: float) -> tuple[float, float]:
    """Start and end of a row; one without a start is of the beginning of its video, of a shorter one of all."""
    if row.start is None:
        return 0.0, duration if row.end is None else min(row.end, duration)
    return row.start, duration if row.end is None else row.end


def _without_features(row: PairRow) -> Clip:
    return Clip(row.clip_id, row.start or 0.0, row.end or 0.0, row.caption, {})


@dataclass(frozen=True)
class VideoFileFrames(VideoFiles):
    """Videos as clips with frames. Rows with the same span of a video are captions of one clip, which has the first
    row's id."""

    frames: FrameSettings = field(default_factory=FrameSettings)

    def settings(self) -> dict[str, Any]:
        """The source's settings, with those of the stored frames."""
        return {**super().settings(), "records": "frames", "frames": asdict(self.frames)}

    @property
    def requested(self) -> tuple[Chosen, ...]:
        """The recipes of frames, then of thumbnails."""
        return (self.frames.chosen, *super().requested)

    def features(self) -> tuple[FeatureSpec, ...]:
        """Empty: features of these clips are a separate data set."""
        return ()

    def pictures(self) -> tuple[int, int]:
        """Height and width of the frames."""
        return self.frames.size, self.frames.size

    def frame_clips(self, video: VideoEntry, drops: Drops) -> Iterator[FrameClip]:
        """The clips of a video. Clips of unusable videos are dropped, also in test sets."""
        extracted = self.extracted[video.video_id]
        if isinstance(extracted, UnusableError):
            drops.drop(extracted.reason, str(extracted), video.content.num_rows)
            return
        for rows in _by_span(video.content.rows):
            try:
                yield self._clip(extracted, rows)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{rows[0].clip_id}: {fault}", len(rows))

    def _spans(self, video: VideoEntry, duration: float) -> Iterator[tuple[str, float, float]]:
        return spans((rows[0] for rows in _by_span(video.content.rows)), duration)

    def _shown(self, video: VideoEntry, features: VideoFeatures) -> dict[int, list[int]]:
        taken: list[int] = []
        for rows in _by_span(video.content.rows):
            with suppress(UnusableError):  # the row is dropped when its shard is written
                taken += self._taken(features, *span_of(rows[0], features.duration)).tolist()
        return {0: taken, **super()._shown(video, features)}

    def _taken(self, features: VideoFeatures, start: float, end: float) -> Int64[np.ndarray, " frames"]:
        """Indices of the clip's frames in the video: one at least, for a clip shorter than an interval the nearest."""
        shown = times(len(features.pictures[0]), self.frames.per_second)
        inside = np.flatnonzero((shown >= start) & (shown < end))
        nearest = np.array([np.abs(shown - (start + end) / 2).argmin()])
        return evenly_kept(inside if len(inside) else nearest, self.frames.most)

    def _clip(self, features: VideoFeatures, rows: Sequence[PairRow]) -> FrameClip:
        first = rows[0]
        start, end = span_of(first, features.duration)
        taken = self._taken(features, start, end)
        frames = features.pictures[0][taken].tolist()
        if sum(map(len, frames)) > MAX_CELL_BYTES:
            message = f"its {len(frames)} frames are larger than {MAX_CELL_BYTES >> 20} MiB; keep fewer (--frames)"
            raise UnusableError(Reason.DECODING_TOO_LARGE, message)
        shown = times(len(features.pictures[0]), self.frames.per_second)[taken]
        return FrameClip(first.clip_id, start, end, [row.caption for row in rows], shown.tolist(), frames)


def _by_span(rows: Sequence[PairRow]) -> list[list[PairRow]]:
    spans: dict[tuple[float | None, float | None], list[PairRow]] = {}
    for row in rows:
        spans.setdefault((row.start, row.end), []).append(row)
    return list(spans.values())
