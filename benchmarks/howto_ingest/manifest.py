"""A data set of any number of clips from one shard under many names, and what planning an epoch of it takes."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from vtr_core.data.ingest.record_tables import record_groups
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import ClipSchema, FeatureSpec, require_clips
from vtr_core.data.shards.shard_file import usable, write_shard
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.data.stream.reading import stream, window_items
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

T = TypeVar("T")
MAX_WORDS = 20


def plan_an_epoch(folder: Path, videos: int, per_shard: int, clips: int, values: int) -> dict[str, Any]:
    """Make the data set, then load, check and plan it and read its first batch; the seconds of each part."""
    made_data_set(folder, videos, per_shard, clips, (FeatureSpec("video", values),))
    parts: dict[str, float] = {}
    manifest = _timed(parts, "manifest is loaded", lambda: Manifest.load(str(folder)))
    _timed(parts, "shards are looked at", lambda: usable(str(folder), require_clips))
    config = preset("capsule-howto")
    plan = _timed(parts, "plan is made", lambda: Plan(manifest, config.batch, config.seed))
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    first = _timed(parts, "first batch, with Ray's start", lambda: _first_batch(reader, plan))
    assert len(first["clip_key"]) == config.batch.rows

    def epoch() -> int:
        return sum(len(window_items(manifest, plan, range(n, n + 1))) for n in range(plan.windows_per_epoch))

    assert _timed(parts, "epoch is planned", epoch) == plan.windows_per_epoch
    batch = f"{config.batch.videos} videos, {config.batch.clips_per_video} clips of each"
    return {"clips": manifest.rows, "parts": parts, "batch": batch, "steps": plan.steps_per_epoch}


def _first_batch(reader: RowGroupReader, plan: Plan) -> dict[str, np.ndarray]:
    from pipelines.ray_session import connect

    connect()
    return next(stream(reader, plan, Part(0, 1), 0))


def _timed(parts: dict[str, float], name: str, work: Callable[[], T]) -> T:
    began = time.perf_counter()
    result = work()
    parts[name] = time.perf_counter() - began
    return result


def made_data_set(folder: Path, videos: int, per_shard: int, clips: int, features: tuple[FeatureSpec, ...]) -> None:
    """A data set of videos of `clips` clips, every shard the same file of `per_shard` videos."""
    words = WordTable(Vocabulary(tuple(f"w{number}" for number in range(100))))
    schema = ClipSchema(features, MAX_WORDS)
    entries = [VideoEntry(f"v{number}", number) for number in range(per_shard)]
    groups = record_groups(_Clips(clips, features), schema, words.vocabulary, entries, Drops())
    shard = write_shard(schema, groups, locate(folder / "part-00000.parquet"))
    shards = [replace(shard, file=f"part-{number:05d}.parquet") for number in range(videos // per_shard)]
    for other in shards[1:]:
        os.link(folder / shard.file, folder / other.file)
    Manifest(str(folder), schema, words.save(locate(folder)), tuple(shards), {"adapter": "made up"}).save()


class _Clips:
    """Videos of as many clips each, the features of which are constant."""

    name: ClassVar[str] = "made up"

    def __init__(self, clips: int, features: tuple[FeatureSpec, ...]) -> None:
        self._clips, self._features = clips, features

    def settings(self) -> dict[str, Any]:
        """None."""
        return {}

    def features(self) -> tuple[FeatureSpec, ...]:
        """Those given."""
        return self._features

    def videos(self, drops: Drops) -> list[VideoEntry]:  # noqa: ARG002
        """Given elsewhere."""
        return []

    def captions(self, videos: Any) -> list[str]:  # noqa: ARG002
        """The vocabulary is given."""
        return []

    def clips(self, video: VideoEntry, drops: Drops) -> Any:  # noqa: ARG002
        """Clips of five seconds, one after the other."""
        rows = {feature.name: np.full(feature.dim, video.content % 7, np.float16) for feature in self._features}
        for number in range(self._clips):
            start = 5.0 * number
            yield Clip(f"{video.video_id}:{number}", start, start + 5, f"w{number % 100}", rows)
