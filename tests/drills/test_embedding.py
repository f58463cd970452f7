"""`vtr embed` on two nodes: each computes with its own copy of the model, and the files are those of one process."""

import os
import sys
from pathlib import Path

import pytest

from pipelines.embed import EmbedFlags, embed
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.toy import toy_dataset
from tests.drills.nodes import finish, start
from tests.local_cluster.cluster import LocalCluster
from vtr_core.retrieval.embed import embedding_job as job
from vtr_core.retrieval.embed.stored_embeddings import load_embeddings

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
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
