"""Every loader delivers the rows of the shards, each once in a pass; every way to read the same batches."""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks import reading
from benchmarks.feeding.data import FeedingClips, write_raw, write_shards
from benchmarks.feeding.ray_data import planned
from benchmarks.peers import deliver
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns

SOURCE = FeedingClips(num_videos=7, num_raw=3, seed=5)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return write_shards(SOURCE, tmp_path_factory.mktemp("feeding") / "shards", processes=1)


@pytest.fixture(scope="module")
def rows(manifest: Manifest) -> Columns:
    """All rows, in the order of their clip keys."""
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    groups = [reader.read(place) for place in row_groups(manifest)]
    return _by_key({name: np.concatenate([group[name] for group in groups]) for name in groups[0]})


def _by_key(columns: Columns) -> Columns:
    order = np.argsort(columns["clip_key"])
    return {name: values[order] for name, values in columns.items()}


def _chosen(rows: Columns, keys: np.ndarray) -> Columns:
    """The rows with the keys, which must be there."""
    places = np.searchsorted(rows["clip_key"], keys)
    np.testing.assert_array_equal(rows["clip_key"][places], keys)
    return {name: values[places] for name, values in rows.items()}


def test_the_shards_hold_the_source_s_rows(manifest: Manifest, rows: Columns):
    clips = [SOURCE.pooled(video) for video in range(SOURCE.num_videos)]
    assert manifest.rows == sum(map(len, clips)) == len(np.unique(rows["clip_key"]))
    assert manifest.videos == SOURCE.num_videos
    expected = np.concatenate(clips)
    found = np.concatenate([rows["video"], rows["audio"]], axis=1)
    assert sorted(row.tobytes() for row in found) == sorted(row.tobytes() for row in expected)
    assert np.isfinite(found).all()
    assert (rows["tokens"] > 0).all()


def test_the_planned_batches_are_rows_of_the_shards(manifest: Manifest, rows: Columns):
    """Each video once in a pass, 32 different clips of it."""
    batches = list(islice(planned(manifest, BatchConfig(videos=2, clips_per_video=32, window=2)), 3))
    delivered = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    assert len(np.unique(delivered["clip_key"])) == 3 * 2 * 32
    assert (np.unique(delivered["video_key"], return_counts=True)[1] == 32).all()
    for name, values in _chosen(rows, delivered["clip_key"]).items():
        np.testing.assert_array_equal(delivered[name], values, err_msg=name)


def test_the_per_video_loader_delivers_the_same_clips(rows: Columns, tmp_path: Path):
    """Each raw video once in a pass, 32 different clips of it, pooled as they are in the shards."""
    write_raw(SOURCE, tmp_path)
    made = list(deliver._video_batches(tmp_path, clips_per_video=32, rows=64, workers=0, epochs=1))
    delivered = {name: np.concatenate([batch[name].numpy() for batch in made]) for name in made[0]}
    assert len(np.unique(delivered["clip_key"])) == len(delivered["clip_key"]) == SOURCE.num_raw * 32
    expected = _chosen(rows, delivered["clip_key"])
    for name, values in delivered.items():
        np.testing.assert_allclose(values, expected[name], rtol=2e-3, err_msg=name)


@pytest.mark.integration
@pytest.mark.long
def test_a_train_worker_measures_what_ray_data_delivers(local_ray: None, tmp_path: Path):
    from benchmarks.feeding.ray_data import Flags, deliver

    write_shards(FeedingClips(num_videos=6, num_raw=0), tmp_path / "shards", processes=1)
    small = {"rows": 64, "clips_per_video": 32, "seconds": 0.0, "warm_up": 1, "step_seconds": 0.0, "profile_windows": 1}
    deliver(Flags(data=str(tmp_path / "shards"), out=str(tmp_path / "out"), **small))
    found = json.loads((tmp_path / "out" / "rank-0.json").read_text())
    assert found["timing"]["rows"] == 64
    assert 0 <= found["data_wait"]["share"] <= 1
    assert list(found["profile"]) == ["assemble", "put", "get", "tensors"]


Ways = Mapping[str, Callable[[], reading.Batches]]


def give_the_same(ways: Ways, ours: str, scan: str) -> None:
    assert reading.rate(ways[scan](), seconds=0.01) > 0
    assert reading.rate(ways[ours](), seconds=0.01) > 0
    for name, batches in ways.items():
        assert name == scan or reading.equal(ways[ours](), batches(), 3), name


def test_all_ways_give_the_same_batches_of_clips(tmp_path: Path) -> None:
    manifest = write_shards(FeedingClips(num_videos=5, num_raw=0), tmp_path / "shards", processes=1)
    give_the_same(reading.clip_ways(64, tmp_path, manifest), reading.OURS, reading.SCAN)


def test_all_ways_give_the_same_batches_of_whole_videos(tmp_path: Path) -> None:
    ways = reading.video_ways(reading.made_videos(tmp_path / "data", 90, dim=8))
    give_the_same(ways, reading.OURS_OF_VIDEOS, reading.SCAN_OF_VIDEOS)
    ours, with_means, _ = (next(islice(batches(), 1)).keys() for batches in ways.values())
    assert with_means - ours == {"video.mean", "text.mean"}
