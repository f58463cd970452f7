"""Shards of extracted videos; each is written as soon as all of its videos are extracted."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from vtr_core.data.ingest.ingest import do
from vtr_core.data.ingest.plan import IngestPlan, ShardTask
from vtr_core.extraction.features import Extracted, Unusable, VideoFeatures
from vtr_core.extraction.source import VideoFiles

Extract = Callable[[Sequence[str]], Iterator[tuple[int, Extracted]]]
"""URIs to (position, features), in any order: `in_process.extract_here` or `on_ray.extract_on_ray`."""
_WRITERS = 2


@dataclass(frozen=True)
class Progress:
    """Cumulative progress after a video."""

    videos: int
    of: int
    dropped: int
    seconds: float
    """Total duration of the extracted videos."""

    def after(self, found: Extracted) -> "Progress":
        """The progress after one more video."""
        if isinstance(found, Unusable):
            return replace(self, videos=self.videos + 1, dropped=self.dropped + 1)
        return replace(self, videos=self.videos + 1, seconds=self.seconds + found.duration)


def write_shards(
    plan: IngestPlan, tasks: Sequence[ShardTask], extract: Extract, keep: Callable[[str, VideoFeatures], None] | None
) -> Iterator[Progress]:
    """Extract the videos of `tasks` and write their shards and records; keep: called with each video's features.

    The features of a shard's videos, and the pictures that it stores, are kept in memory until it is written.
    """
    assert isinstance(plan.source, VideoFiles)
    videos = [(task, video) for task in tasks for video in task.videos]
    left = {task.name: len(task.videos) for task in tasks}
    held: dict[str, dict[str, Extracted]] = {}
    progress = Progress(0, len(videos), 0, 0.0)
    with ThreadPoolExecutor(_WRITERS) as pool:
        writing: list[Future[dict[str, Any]]] = []
        for position, found in extract([video.content.uri for _, video in videos]):
            task, video = videos[position]
            if keep is not None and isinstance(found, VideoFeatures):
                keep(video.video_id, found)
            held.setdefault(task.name, {})[video.video_id] = plan.source.trimmed(video, found)
            left[task.name] -= 1
            if not left[task.name]:
                writing = _started(writing, pool.submit(_write, plan, task, held.pop(task.name)))
            progress = progress.after(found)
            yield progress
        for future in writing:
            future.result()


def _started(writing: list[Future[dict[str, Any]]], one: Future[dict[str, Any]]) -> list[Future[dict[str, Any]]]:
    """`writing` with another write added; waits for the oldest one where there would be too many."""
    writing = [*writing, one]
    while len(writing) > _WRITERS:
        writing.pop(0).result()
    return writing


def _write(plan: IngestPlan, task: ShardTask, extracted: dict[str, Extracted]) -> dict[str, Any]:
    assert isinstance(plan.source, VideoFiles)
    source: Any = plan.source.holding(extracted)
    return do(replace(plan, source=source, tasks=()), task)
