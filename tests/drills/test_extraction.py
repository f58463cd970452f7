"""Extraction from video files on a cluster whose second node dies in the middle of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.small_videos import grey_video
from tests.drills.nodes import finish, start
from tests.drills.runs import wait_until
from tests.local_cluster.cluster import LocalCluster
from vtr_core.data.manifest import Manifest

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
VIDEOS, VIDEOS_PER_SHARD = 40, 4


def test_a_node_dies_while_videos_are_extracted(cluster: LocalCluster, tmp_path: Path) -> None:
    """Both nodes decode; the data set is the one that a single process makes."""
    command = _command(tmp_path)
    process = start(cluster, [*command, "--out", str(tmp_path / "cluster")])
    wait_until(lambda: any(_decodes(pid) for pid in cluster.nodes[1].pids()), process)
    wait_until(lambda: len(_progress(tmp_path / "cluster")) >= 2, process)
    assert len(_progress(tmp_path / "cluster")) < VIDEOS / VIDEOS_PER_SHARD
    cluster.nodes[1].kill()
    finish(process)
    cluster.nodes[1].start()
    here = [*command, "--out", str(tmp_path / "here"), "--workers", "0"]
    subprocess.run(here, check=True, capture_output=True, env=os.environ)
    fingerprints = {Manifest.load(str(tmp_path / out)).fingerprint for out in ("cluster", "here")}
    assert len(fingerprints) == 1


def _command(folder: Path) -> list[str]:
    videos = folder / "videos"
    videos.mkdir()
    for number in range(VIDEOS):
        grey_video(videos / f"{number:02d}.mp4", [k / 5 for k in range(20)], sound_s=4.0)
    rows = "\n".join(f"{number},a film,{number:02d}.mp4" for number in range(VIDEOS))
    (folder / "clips.csv").write_text(f"id,caption,video\n{rows}\n")
    given = ["extract", str(videos), "--captions", str(folder / "clips.csv")]
    return [sys.executable, "-m", "pipelines.cli", *given, "--videos-per-shard", str(VIDEOS_PER_SHARD)]


def _decodes(pid: int) -> bool:
    """Whether a process is an actor that decodes videos."""
    try:
        return b"_Decoder" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:  # it has ended since it was listed
        return False


def _progress(out: Path) -> list[Path]:
    """Records of shards that are written."""
    return list(out.glob("_ingest/all-*.json"))
