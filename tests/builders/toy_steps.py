"""A source of invented videos with ordered steps, and a data set of them made without Ray."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.arrays import TimedLabel
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import Drops, StepVideo, VideoEntry

SECONDS_OF = (3, 0, 4, 5, 1)


@dataclass(frozen=True)
class ToySteps:
    """Video v has `SECONDS_OF[v]` frames, v + 1 steps, a segment for all but the last; every third has audio."""

    fail_at: frozenset[int] = field(default_factory=frozenset)
    name: ClassVar[str] = "toy_steps"

    def settings(self) -> dict[str, Any]:
        return {}

    def features(self) -> tuple[FeatureSpec, ...]:
        return FeatureSpec("video", 3), FeatureSpec("audio", 2)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(f"v{v}", v) for v in range(len(SECONDS_OF))]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield from steps(video.content)

    def step_video(self, video: VideoEntry, drops: Drops) -> StepVideo | None:
        v = video.content
        if v in self.fail_at:
            drops.drop("unreadable_file", f"v{v} cannot be read")
            return None
        labels = [str(k % 2) for k in range(v + 1)]
        segments = [TimedLabel(k + 0.25, k + 1.5, labels[k]) for k in range(v)]
        features: dict[str, np.ndarray] = {}
        if SECONDS_OF[v]:
            features["video"] = frames(v)
        if v % 3 == 0:
            features["audio"] = np.full((2, 2), v, np.float16)
        return StepVideo(f"v{v}", f"task{v % 2}", steps(v), labels, segments, features)


def steps(v: int) -> list[str]:
    return [f"Do thing{k} of video{v}" for k in range(v + 1)]


def frames(v: int) -> np.ndarray:
    return np.array([[v, t, v + t] for t in range(SECONDS_OF[v])], np.float16).reshape(-1, 3)


def toy_steps(folder: Path, source: ToySteps | None = None) -> Manifest:
    return written(source or ToySteps(), folder, IngestOptions(videos_per_shard=2))[0]
