"""Extracted videos as a source of an ingest that keeps the pictures of clips themselves."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from vtr_core.data.records.binary_columns import MAX_CELL_BYTES
from vtr_core.data.records.schema import FeatureSpec, FrameEncoding
from vtr_core.data.sources.pairs.rows import PairRow
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, FrameClip, VideoEntry
from vtr_core.extraction.chosen import Chosen
from vtr_core.extraction.features import Unusable, VideoFeatures
from vtr_core.extraction.pictures import FrameSettings, times
from vtr_core.extraction.source import VideoFiles, evenly_kept, span_of


@dataclass(frozen=True)
class VideoFileFrames(VideoFiles):
    """As clips with their pictures. Rows of one span of a video are captions of one clip, the first one's id is its."""

    frames: FrameSettings = field(default_factory=FrameSettings)

    def settings(self) -> dict[str, Any]:
        """With what is kept of each clip."""
        return {**super().settings(), "records": "frames", "frames": asdict(self.frames)}

    @property
    def asked(self) -> tuple[Chosen, ...]:
        """The frames, then thumbnails."""
        return (self.frames.chosen, *super().asked)

    def features(self) -> tuple[FeatureSpec, ...]:
        """None: features of these clips are a data set of their own."""
        return ()

    def pictures(self) -> tuple[int, int, FrameEncoding]:
        """Height, width and encoding."""
        return self.frames.size, self.frames.size, self.frames.encoding

    def frame_clips(self, video: VideoEntry, drops: Drops) -> Iterator[FrameClip]:
        """The clips of a video; those of a test set whose video cannot be used are dropped, too."""
        found = self.extracted[video.video_id]
        if isinstance(found, Unusable):
            drops.drop(found.reason, found.what, len(video.content.rows))
            return
        for rows in _by_span(video.content.rows):
            try:
                yield self._clip(found, rows)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{rows[0].clip_id}: {fault}", len(rows))

    def _spans(self, video: VideoEntry, duration: float) -> Iterator[tuple[str, float, float]]:
        for rows in _by_span(video.content.rows):
            yield from super()._spans(replace(video, content=replace(video.content, rows=tuple(rows[:1]))), duration)

    def _shown(self, video: VideoEntry, found: VideoFeatures) -> dict[int, list[int]]:
        taken: list[int] = []
        for rows in _by_span(video.content.rows):
            with suppress(UnusableError):  # it is dropped when it is written
                taken += self._taken(found, *span_of(rows[0], found.duration)).tolist()
        return {0: taken, **super()._shown(video, found)}

    def _taken(self, found: VideoFeatures, start: float, end: float) -> Int64[np.ndarray, " frames"]:
        """Which frames of the video a clip has: one at least, for a clip shorter than an interval the nearest."""
        shown = times(len(found.pictures[0]), self.frames.per_second)
        inside = np.flatnonzero((shown >= start) & (shown < end))
        nearest = np.array([np.abs(shown - (start + end) / 2).argmin()])
        return evenly_kept(inside if len(inside) else nearest, self.frames.most)

    def _clip(self, found: VideoFeatures, rows: Sequence[PairRow]) -> FrameClip:
        first = rows[0]
        start, end = span_of(first, found.duration)
        taken = self._taken(found, start, end)
        frames = found.pictures[0][taken].tolist()
        if sum(map(len, frames)) > MAX_CELL_BYTES:
            what = f"its {len(frames)} frames are larger than {MAX_CELL_BYTES >> 20} MiB; keep fewer (--frames)"
            raise UnusableError(Reason.DECODING_TOO_LARGE, what)
        shown = times(len(found.pictures[0]), self.frames.per_second)[taken]
        return FrameClip(first.clip_id, start, end, [row.caption for row in rows], shown.tolist(), frames)


def _by_span(rows: Sequence[PairRow]) -> list[list[PairRow]]:
    spans: dict[tuple[float | None, float | None], list[PairRow]] = {}
    for row in rows:
        spans.setdefault((row.start, row.end), []).append(row)
    return list(spans.values())
