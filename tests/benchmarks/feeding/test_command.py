import json
from itertools import count
from pathlib import Path

import pytest

from benchmarks.feeding.data import FeedingClips, write_shards
from benchmarks.peers.deliver import timed

MEGABYTE = 2**20


def test_the_warm_up_does_not_count():
    taken = []

    def batches():
        for number in count():
            taken.append(number)
            yield number

    timing = timed(batches(), lambda number: 10 * number, seconds=0.0, warm_up=3)
    assert taken == [0, 1, 2, 3]
    assert (timing.rows, timing.steps) == (30, 1)
    assert timing.rate == timing.rows / timing.seconds


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


@pytest.mark.integration
@pytest.mark.long
def test_ray_datas_own_way_delivers_each_row(local_ray: None, tmp_path: Path):
    from benchmarks.feeding.ray_parquet import batches, write

    manifest = write_shards(FeedingClips(num_videos=4, num_raw=0), tmp_path / "shards", processes=1)
    write(str(tmp_path / "shards"), str(tmp_path / "written"))
    made = batches(str(tmp_path / "written"), 64)
    found = [next(made) for _ in range(manifest.rows // 64)]
    made.close()
    assert len({int(key) for batch in found for key in batch["clip_key"]}) == manifest.rows
    assert found[0]["video"].shape == (64, 4096)
