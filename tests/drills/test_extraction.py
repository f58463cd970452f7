"""Extraction on a cluster whose second node dies in the middle of it; and vtr embed on two nodes, as in one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.embed import EmbedFlags, embed
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.small_videos import grey_video
from tests.builders.toy import toy_dataset
from tests.drills.nodes import finish, start
from tests.drills.runs import wait_until
from tests.local_cluster.cluster import LocalCluster
from vtr_core.data.manifest import Manifest
from vtr_core.retrieval.embed import embedding_job as job
from vtr_core.retrieval.embed.stored_embeddings import load_embeddings

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


SHARD_ROWS, VIDEOS = 2, 40
TOGETHER = f"""
import sys
import ray.data
from ray.data import ActorPoolStrategy, DataContext
from pipelines.cli import run
from vtr_core.retrieval.embed import embedding_job as job
job.SHARD_ROWS = {SHARD_ROWS}
ray.data.ActorPoolStrategy = lambda max_size, **_: ActorPoolStrategy(size=max_size)
DataContext.get_current().wait_for_min_actors_s = 1200
run("embed", [*sys.argv[1:], "--workers", "2"])
"""
"""`vtr embed` with small shards, which begins once both copies of the model are there, as it ends in a moment."""


def test_both_nodes_embed(cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = toy_dataset(tmp_path / "data", [2] * VIDEOS)[0]
    checkpoint, out = capsule_checkpoint(tmp_path / "model", data), str(tmp_path / "cluster")
    words = [checkpoint, "--data", data.uri, "--out", out]
    finish(start(cluster, [sys.executable, "-c", TOGETHER, *words]))
    monkeypatch.setattr(job, "SHARD_ROWS", SHARD_ROWS)
    here = embed(EmbedFlags(checkpoint, data.uri, str(tmp_path / "here"), workers=0))
    assert len(here.shards) > len(cluster.nodes)
    assert load_embeddings(out) == here
    assert _embedding_nodes(cluster) == {node.name for node in cluster.nodes}


def _embedding_nodes(cluster: LocalCluster) -> set[str]:
    """The nodes that actors with a model ran on."""
    from ray.util.state import list_actors

    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    names = cluster.alive()
    found = list_actors(cluster.dashboard_url, detail=True)
    models = [actor for actor in found if "_Embedder" in f"{actor['class_name']} {actor['repr_name']}"]
    return {names[actor["node_id"]] for actor in models}
