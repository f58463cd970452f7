"""Runs of two workers on a cluster of several nodes on this machine, each worker on a node of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.drills import runs
from tests.local_cluster.cluster import LocalCluster, LocalNode
from tests.local_cluster.ray_start import NodeSpec
from vtr_core.run.config import TrainConfig

HEAD, OTHER = NodeSpec(cpus=3), NodeSpec(cpus=2)
"""A worker takes two CPUs, so each node holds one, and the head has one left for reading."""
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""The number of threads can change a sum; a local worker, of one CPU, has one."""
STEPS = 140


def config(**changes: object) -> TrainConfig:
    """A run of `STEPS` steps, long enough for a fault in its middle, with a checkpoint at every tenth."""
    longer = {
        "training.epochs": STEPS // runs.STEPS_PER_EPOCH,
        "training.validate_every": STEPS // runs.STEPS_PER_EPOCH,
        "training.checkpoint_every": 10,
        "scaling.cpus_per_worker": 2,
        **runs.LEARNT,
    }
    return runs.config(2, **{**longer, **changes})


def local(changed: TrainConfig) -> TrainConfig:
    """The same run for this test's own Ray, which has four CPUs."""
    return changed.model_copy(update={"scaling": changed.scaling.model_copy(update={"cpus_per_worker": 1.0})})


def train_command(world: Path, out: Path, configuration: TrainConfig) -> list[str]:
    """`vtr train` with a configuration, which is written beside the run."""
    file = out.parent / f"{out.name}.config.json"
    file.write_text(json.dumps(configuration.model_dump(mode="json")))
    return [*_VTR, "train", "--config", str(file), "--data", str(world), "--out", str(out)]


def resume_command(run: Path) -> list[str]:
    """`vtr train --resume`."""
    return [*_VTR, "train", "--resume", str(run)]


def start(cluster: LocalCluster, command: list[str]) -> "subprocess.Popen[str]":
    """Start a command on the head; its standard error and output are one pipe."""
    process: subprocess.Popen[str] = cluster.popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    )
    return process


def finish(process: "subprocess.Popen[str]") -> None:
    """Wait for a command that is to end well."""
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output


def train_workers(node: LocalNode) -> list[int]:
    """The train workers on a node."""
    return [pid for pid in node.pids() if b"RayTrainWorker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def reaches(run: Path, step: int) -> Any:
    """Tells whether the run has logged `step`."""
    return lambda: (run / "metrics.jsonl").exists() and f'"step": {step},' in (run / "metrics.jsonl").read_text()


_VTR = [sys.executable, "-m", "pipelines.cli"]
