"""Extracted videos as an ingest source of clips with stored frames."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
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
from vtr_core.extraction.found_features import evenly_kept
from vtr_core.extraction.pictures import FrameSettings, times
from vtr_core.extraction.source import VideoFiles, span_of, spans


@dataclass(frozen=True)
class VideoFileFrames(VideoFiles):
    """Videos as clips with frames. Rows with the same span of a video are captions of one clip, which has the first
    row's id."""

    frames: FrameSettings = field(default_factory=FrameSettings)

    def settings(self) -> dict[str, Any]:
        """The source's settings, with those of the stored frames."""
        return {**super().settings(), "records": "frames", "frames": asdict(self.frames)}

    @property
    def asked(self) -> tuple[Chosen, ...]:
        """The recipes of frames, then of thumbnails."""
        return (self.frames.chosen, *super().asked)

    def features(self) -> tuple[FeatureSpec, ...]:
        """Empty: features of these clips are a separate data set."""
        return ()

    def pictures(self) -> tuple[int, int, FrameEncoding]:
        """Height, width and encoding of the frames."""
        return self.frames.size, self.frames.size, self.frames.encoding

    def frame_clips(self, video: VideoEntry, drops: Drops) -> Iterator[FrameClip]:
        """The clips of a video. Clips of unusable videos are dropped, also in test sets."""
        found = self.extracted[video.video_id]
        if isinstance(found, Unusable):
            drops.drop(found.reason, found.what, video.content.num_rows)
            return
        for rows in _by_span(video.content.rows):
            try:
                yield self._clip(found, rows)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{rows[0].clip_id}: {fault}", len(rows))

    def _spans(self, video: VideoEntry, duration: float) -> Iterator[tuple[str, float, float]]:
        return spans((rows[0] for rows in _by_span(video.content.rows)), duration)

    def _shown(self, video: VideoEntry, found: VideoFeatures) -> dict[int, list[int]]:
        taken: list[int] = []
        for rows in _by_span(video.content.rows):
            with suppress(UnusableError):  # the row is dropped when its shard is written
                taken += self._taken(found, *span_of(rows[0], found.duration)).tolist()
        return {0: taken, **super()._shown(video, found)}

    def _taken(self, found: VideoFeatures, start: float, end: float) -> Int64[np.ndarray, " frames"]:
        """Indices of the clip's frames in the video: one at least, for a clip shorter than an interval the nearest."""
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
