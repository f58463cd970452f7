"""A source of invented clips whose content tells where it came from, and data sets made of it without Ray."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vtr_core.data.ingest import IngestOptions, begin, do, finish, plan_ingest
from vtr_core.data.manifest import Manifest
from vtr_core.data.schema import FeatureSpec
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.storage import locate

DIM = 3


@dataclass(frozen=True)
class Toy:
    """Video v has `clips[v]` clips; clip c of it has the video feature [v, c, v + c] and every third one audio."""

    clips_of: Sequence[int] = (3, 1, 4, 2, 5)
    fail_at: frozenset[int] = field(default_factory=frozenset)
    name: ClassVar[str] = "toy"

    def settings(self) -> dict[str, Any]:
        return {"clips_of": list(self.clips_of)}

    def features(self) -> tuple[FeatureSpec, ...]:
        return FeatureSpec("video", DIM), FeatureSpec("audio", 2)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(f"v{i}", i) for i in range(len(self.clips_of))]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield f"video number{video.content}"

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        v = video.content
        if v in self.fail_at:
            drops.drop("unreadable_file", f"v{v} cannot be read", self.clips_of[v])
            return
        for c in range(self.clips_of[v]):
            features: dict[str, np.ndarray] = {"video": np.array([v, c, v + c], np.float16)}
            if c % 3 == 0:
                features["audio"] = np.array([c, 1], np.float16)
            yield Clip(f"v{v}:{c}", float(c), c + 1.0, f"video number{v}", features)


def toy_dataset(
    folder: Path,
    clips_of: Sequence[int] = (3, 1, 4, 2, 5),
    splits: Mapping[str, float] | None = None,
    videos_per_shard: int = 2,
) -> list[Manifest]:
    """Ingest a `Toy` into `folder`, one shard after another."""
    options = IngestOptions(splits=splits or {}, videos_per_shard=videos_per_shard)
    plan = plan_ingest(Toy(tuple(clips_of)), locate(str(folder)), None, options)
    for task in begin(plan):
        do(plan, task)
    return list(finish(plan).manifests)
