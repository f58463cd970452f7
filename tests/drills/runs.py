"""Small whole runs for drills: how to start and disturb one, and what must be equal to an undisturbed one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from tests.local_cluster import processes
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

EPOCHS, STEPS_PER_EPOCH = 6, 2
STEPS = EPOCHS * STEPS_PER_EPOCH
LEARNT = {"loss.kind": "info_nce", "loss.learnable_temperature": True, "training.ema_decay": 0.9}
"""A loss with a parameter of its own, and weights that are averaged: more state to carry on with."""


def config(workers: int = 1, **changes: object) -> TrainConfig:
    """A run of `STEPS` steps on the fixture `world` that takes a few seconds."""
    small = {
        "model.num_capsules": 4,
        "model.embedding_dim": 16,
        "model.words.hidden_dim": 16,
        "batch.clips_per_video": 3,
        "training.epochs": EPOCHS,
        "training.log_every": 1,
        "scaling.workers": workers,
    }
    return override(preset("capsule-howto-tiny"), {**small, **changes})


def points(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def losses(run: Path) -> list[float]:
    """The training loss of every logged step, in the order of the file."""
    return [point["train/loss"] for point in points(run) if "train/loss" in point]


def steps(run: Path) -> list[int]:
    """The steps that have a training loss, in the order of the file."""
    return [point["step"] for point in points(run) if "train/loss" in point]


def events(run: Path, *names: str) -> list[dict[str, Any]]:
    """The run's events, or those with one of `names`."""
    found = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in found if not names or event["event"] in names]


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    """The weights in the checkpoint of `step`."""
    return safetensors.torch.load_file(run / "checkpoints" / f"step-{step:08d}" / "model.safetensors")


def cut_short(run: Path, to: Path, kept: int) -> Path:
    """A copy of a run with its first `kept` checkpoints alone, as if killed then, and without its MLflow run."""
    shutil.copytree(run, to)
    record = json.loads((to / "run.json").read_text())
    (to / "run.json").write_text(json.dumps({**record, "mlflow_run_id": None}))
    for checkpoint in sorted((to / "checkpoints").glob("step-*"))[kept:]:
        shutil.rmtree(checkpoint)
    return to


def assert_equal_weights(undisturbed: Path, disturbed: Path, step: int) -> None:
    """The weights in both runs' checkpoints of `step` are bit-equal."""
    expected, found = weights(undisturbed, step), weights(disturbed, step)
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def assert_equal_runs(undisturbed: Path, disturbed: Path, last_step: int = STEPS) -> None:
    """Final weights bit-equal, and every step logged once with the same loss: no sample was lost or repeated."""
    assert_equal_weights(undisturbed, disturbed, last_step)
    assert steps(disturbed) == list(range(1, last_step + 1))
    assert losses(disturbed) == losses(undisturbed)


def steps_lost(run: Path) -> int:
    """The steps that were done again, over all resumptions."""
    return sum(event["steps_lost"] for event in events(run, "resumed"))


def seconds_to_recover(run: Path, fault_time: float) -> float:
    """From `fault_time` (time.time()) to the first point logged by the worker group that began after it."""
    began = next(e["time"] for e in events(run, "started", "resumed") if e["time"] > fault_time)
    resumed_at = max(e["step"] for e in events(run, "started", "resumed") if e["time"] == began)
    after = (p["time"] for p in points(run) if p["time"] > fault_time and p["step"] > resumed_at)
    return next(after) - fault_time


def start(
    data: Path, out: Path, configuration: TrainConfig, wrap: Sequence[str] = (), **env: str
) -> "subprocess.Popen[str]":
    """Start `vtr train` as a process group of its own with a Ray of its own; `wrap` comes before the command."""
    file = Path(tempfile.mkdtemp()) / "config.json"
    file.write_text(json.dumps(configuration.model_dump(mode="json")))
    return start_command(["train", "--config", str(file), "--data", str(data), "--out", str(out)], wrap, env)


def start_resume(run: Path, wrap: Sequence[str] = (), **env: str) -> "subprocess.Popen[str]":
    """Start `vtr train --resume`."""
    return start_command(["train", "--resume", str(run)], wrap, env)


def start_command(
    words: Sequence[str], wrap: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> "subprocess.Popen[str]":
    """Start `vtr` with `words`; its standard error and output are one pipe."""
    return subprocess.Popen(
        [*wrap, sys.executable, "-m", "pipelines.cli", *words],
        start_new_session=True,
        env={**os.environ, "RAY_ADDRESS": "local", **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until(holds: Callable[[], object], process: "subprocess.Popen[str]", limit_s: float = 600) -> None:
    """Wait until `holds()`; AssertionError where the process ends, or the limit comes, before."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert process.poll() is None, f"the command ended before: {process.stdout and process.stdout.read()}"
        assert time.monotonic() < deadline, "that took too long"
        time.sleep(0.02)


def has_checkpoint(run: Path, pattern: str = "step-*") -> bool:
    """Whether the run has a complete checkpoint whose name fits."""
    return bool(list(run.glob(f"checkpoints/{pattern}/checkpoint.json")))


def kill_group(process: "subprocess.Popen[Any]") -> float:
    """SIGKILL the command with all its processes, and wait for their ends; the time of the fault.

    Ray gives every worker a process group of its own, but all are in the session that `start_command` begins.
    """
    fault = time.time()
    processes.end(lambda: processes.in_session(process.pid))
    process.communicate()
    return fault


def train_workers() -> list[int]:
    """The train workers among this process's descendants, oldest first."""
    return sorted(pid for pid in _processes("RayTrainWorker") if os.getpid() in _ancestors(pid))


def _processes(name: str) -> list[int]:
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [int(folder.name) for folder in folders if name in _read(folder / "cmdline")]


def _ancestors(pid: int) -> list[int]:
    parents = []
    while pid > 1:
        pid = int((_read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["", "0"])[1])
        parents.append(pid)
    return parents


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the process has ended
        return ""
