import json
import os
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from benchmarks.feeding import __main__ as feeding_page
from benchmarks.feeding.data import FeedingClips, write_shards
from benchmarks.feeding.memory import PeakMemory, memory, tree
from benchmarks.peers.deliver import timed

MEGABYTE = 2**20


def _turn(rate, workers=1, first=1.0):
    timing = {"rows": int(rate), "steps": 1, "seconds": 1.0, "first_batch_s": first}
    return {"timings": [timing] * workers}


def _figures():
    parts = {"assemble": 0.03, "put": 0.01, "get": 0.001, "tensors": 0.01}
    more = {"data_wait": {"step_seconds": 0.1, "share": 0.01}, "profile": parts}
    scans = {f"scan, {way}": [_turn(200), _turn(400), _turn(100)] for way in ("memory_map", "read", "dataset")}
    once, larger = {"processes": 90, "object_store": 10}, {"processes": 92, "object_store": 12}
    return {
        "rows": 1000,
        "gigabytes": 4.0,
        "row_bytes": 10_000.0,
        "rows_read_per_row": 1.25,
        "batch_rows": 64,
        "seconds": 1.0,
        "contestants": {
            **scans,
            "ours, 1": [_turn(rate) | more for rate in (120, 160, 90)],
            "ours, 2": [_turn(rate, workers=2) for rate in (60, 90, 40)],
            "planned": [_turn(50)] * 3,
            "video_files": [_turn(10)] * 3,
            "webdataset": [_turn(100)] * 3,
        },
        "memory": {"steps": 60, "times": 8, "rounds": [{"once": once, "larger": larger}] * 3},
        "device": "a machine",
        "versions": {"torch": "2"},
        "command": "python -m benchmarks.feeding",
    }


def test_rates_add_up_workers_and_ratios_are_taken_within_a_round():
    figures = _figures()
    assert feeding_page.rates(figures["contestants"]["ours, 2"]) == [120, 180, 80]
    assert feeding_page.ratios(figures, "ours, 1", "scan, read") == pytest.approx([0.6, 0.4, 0.9])


def test_goals_are_judged_by_medians_and_an_absent_loader_by_none():
    found = {what: (measured, met) for what, _, measured, met in feeding_page.goals(_figures())}
    ratios = {what: met for what, (_, met) in found.items() if "clips/s" in what}
    # 0.6 of each scan, without Ray 0.25 of it, 12 ×, 1.2 ×
    assert list(ratios.values()) == [True, True, False, False, True, False]
    assert not any("mosaicml" in what for what in ratios)
    assert found["peak memory, 8 × the data to 1 ×, at most"] == (pytest.approx(1.04), True)
    assert found["first batch, s, at most"] == (1.0, True)


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


@pytest.mark.linux
def test_memory_is_that_of_the_whole_tree():
    hold = f"held = bytearray(b'x' * {64 * MEGABYTE}); print(flush=True); input()"
    words = [sys.executable, "-c", hold]
    parent = f"import subprocess; subprocess.run({words!r})"
    child = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    assert len(tree(child.pid)) == 2
    assert 64 <= memory(child.pid).processes / MEGABYTE < 128
    child.communicate(b"\n")


@pytest.mark.linux
def test_the_highest_memory_is_sought_between_the_marks(tmp_path: Path):
    begin, end = tmp_path / "begin", tmp_path / "end"
    with PeakMemory(os.getpid(), begin, end, interval_s=0.001) as peak:
        time.sleep(0.05)
        assert peak.samples == 0
        begin.touch()
        deadline = time.monotonic() + 3600
        while peak.samples == 0:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        end.touch()
    assert peak.highest.processes > MEGABYTE


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
