"""Every way to read gives the same batches, bit for bit."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

from benchmarks.feeding.data import FeedingClips, write_shards
from benchmarks.reading import (
    OURS,
    OURS_OF_VIDEOS,
    SCAN,
    SCAN_OF_VIDEOS,
    Batches,
    clip_ways,
    equal,
    made_videos,
    rate,
    video_ways,
)

Ways = Mapping[str, Callable[[], Batches]]


def give_the_same(ways: Ways, ours: str, scan: str) -> None:
    assert rate(ways[scan](), seconds=0.01) > 0
    assert rate(ways[ours](), seconds=0.01) > 0
    for name, batches in ways.items():
        assert name == scan or equal(ways[ours](), batches(), 3), name


def test_all_ways_give_the_same_batches_of_clips(tmp_path: Path) -> None:
    manifest = write_shards(FeedingClips(num_videos=5, num_raw=0), tmp_path / "shards", processes=1)
    give_the_same(clip_ways(64, tmp_path, manifest), OURS, SCAN)


def test_all_ways_give_the_same_batches_of_whole_videos(tmp_path: Path) -> None:
    ways = video_ways(made_videos(tmp_path / "data", 90, dim=8))
    give_the_same(ways, OURS_OF_VIDEOS, SCAN_OF_VIDEOS)
    ours, with_means, _ = (next(islice(batches(), 1)).keys() for batches in ways.values())
    assert with_means - ours == {"video.mean", "text.mean"}
