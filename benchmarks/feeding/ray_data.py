"""Planned, shuffled batches through Ray Data, as tensors in a Ray Train worker: the product's own way.

    python -m benchmarks.feeding.ray_data --data FOLDER --out FOLDER [--workers 2]

A Ray of its own is started, and a worker group as for training. Every worker writes rank-<rank>.json: its timing, the
share of a step that waits for data with steps of a fixed length, and where the time of one batch goes.
"""

import json
import logging
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import ray
import ray.train
import torch
from ray.train.torch import TorchTrainer

from benchmarks.peers.deliver import timed
from pipelines.arguments import parse
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.batches import ClipBatch, clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble, read_directly
from vtr_core.data.stream.reading import stream
from vtr_core.ray_private import KEEP_DEVICES, KEEP_IDLE
from vtr_core.train.loop.recorder import Meter

SEED = 0


def direct(data: str, batch: BatchConfig) -> Iterator[ClipBatch]:
    """The planned batches as tensors, read in this process, without end."""
    manifest = Manifest.load(data)
    features = [feature.name for feature in manifest.schema.features]
    return (clip_batch(columns, features) for columns in planned(manifest, batch))


def planned(manifest: Manifest, batch: BatchConfig, seed: int = SEED) -> Iterator[Columns]:
    """What the plan says, window after window, without end."""
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    return read_directly(reader, Plan(manifest, batch, seed), Part(0, 1), 0)


BEGIN, END = "begin", "end"
"""Files that the first worker makes around its steady part."""


@dataclass(frozen=True)
class Flags:
    """What to read, with how much, and for how long."""

    data: str
    """Folder of the shards."""
    out: str = ""
    """Folder of the results."""
    workers: int = 1
    """Train workers of one CPU each; 0: without Ray, as `scaling.workers 0` reads, the timing printed as JSON."""
    reading_cpus: int = 2
    """CPUs that Ray may use for reading beside the workers' own; the machine's cores are shared by all."""
    rows: int = 4096
    """Rows of a global batch."""
    clips_per_video: int = 32
    """Clips of a video in a batch."""
    seconds: float = 10.0
    """Batches are counted for about so long, after those that do not count."""
    warm_up: int = 400
    """Batches that do not count: until then Ray's object store has been written to once, whose fresh pages cost several
    times a copy, and the next execution begins only after 2,336 batches."""
    steps: int | None = None
    """Instead of all measurements, take so many batches as warm-up and as many more between two marks."""
    step_seconds: float = 0.1
    """Length of a training step whose wait for data is measured."""
    profile_windows: int = 40
    """Windows of batches whose parts are timed one by one."""

    @property
    def batch(self) -> BatchConfig:
        """The batch as the product configures it."""
        return BatchConfig(videos=self.rows // self.clips_per_video, clips_per_video=self.clips_per_video)


def main(argv: Sequence[str]) -> None:
    """Run the worker group to its end."""
    flags = parse(Flags, argv, "python -m benchmarks.feeding.ray_data")
    if not flags.workers:
        print(json.dumps(asdict(timed(direct(flags.data, flags.batch), lambda batch: batch.rows, flags.seconds, 8))))
        return
    os.environ.update({KEEP_DEVICES: "0", **KEEP_IDLE})
    cpus = flags.workers + flags.reading_cpus
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    deliver(flags)
    ray.shutdown()


def deliver(flags: Flags) -> None:
    """Measure on the Ray that is connected."""
    out = Path(flags.out).absolute()
    out.mkdir(parents=True, exist_ok=True)
    scaling = ray.train.ScalingConfig(num_workers=flags.workers, resources_per_worker={"CPU": 1})
    run = ray.train.RunConfig(name=f"feeding-{os.getpid()}", storage_path=str(out / "ray_train"))
    TorchTrainer(train_worker, train_loop_config={"flags": flags}, scaling_config=scaling, run_config=run).fit()


def train_worker(values: dict[str, Any]) -> None:
    """One worker's measurements."""
    torch.set_num_threads(1)
    flags, context = values["flags"], ray.train.get_context()
    rank, world = context.get_world_rank(), context.get_world_size()
    out = Path(flags.out)
    batches = tensors(flags, rank, world)
    if flags.steps is None:
        timing = timed(batches, lambda batch: batch.rows, flags.seconds, flags.warm_up)
        figures: dict[str, Any] = {"timing": asdict(timing), "data_wait": data_wait(batches, flags.step_seconds)}
        if rank == 0 and world == 1:
            batches.close()
            figures["profile"] = profile(flags)
    else:
        figures = {"rows": steady(batches, flags.steps, out if rank == 0 else None)}
    (out / f"rank-{rank}.json").write_text(json.dumps(figures))


def tensors(flags: Flags, rank: int, world: int) -> Generator[ClipBatch, None, None]:
    """The worker's part of every batch, without end, as the training loop has it before it moves it to the device."""
    manifest = Manifest.load(flags.data)
    features = [feature.name for feature in manifest.schema.features]
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    for columns in stream(reader, Plan(manifest, flags.batch, SEED), Part(rank, world), 0):
        yield clip_batch(columns, features)


def data_wait(batches: Iterator[ClipBatch], step_seconds: float, steps: int = 20) -> dict[str, float]:
    """The share of a step that waits for data, with steps that leave the processor alone as a GPU's do."""
    next(batches)
    meter = Meter(rows=1)
    for _ in range(steps):
        with meter.waiting():
            next(batches)
        sleep(step_seconds)
        meter.step()
    return {"step_seconds": step_seconds, "share": meter.read()["train/data_wait"]}


def steady(batches: Iterator[ClipBatch], steps: int, marks: Path | None) -> int:
    """Rows of `steps` batches after as many that do not count; `marks`: the folder of the two marks."""
    for _ in range(steps):
        next(batches)
    if marks is not None:
        (marks / BEGIN).touch()
    rows = sum(next(batches).rows for _ in range(steps))
    if marks is not None:
        (marks / END).touch()
    return rows


def profile(flags: Flags) -> dict[str, float]:
    """Seconds per batch of its parts, each alone in this process: assemble, put, get, tensors.

    `assemble`: plan, read, verify and scatter, of a window, divided by its batches. Put and get are of one object with
    all columns, which a batch is a part of in Ray's object store; `tensors` is `clip_batch`. Medians.
    """
    manifest = Manifest.load(flags.data)
    features = [feature.name for feature in manifest.schema.features]
    plan, reader = Plan(manifest, flags.batch, SEED), RowGroupReader(manifest, training_columns(manifest.schema))
    parts: dict[str, list[float]] = {"assemble": [], "put": [], "get": [], "tensors": []}
    clock = _Clock()
    for number in range(flags.profile_windows):
        assembled = 0.0
        batches = plan.window(number)
        for columns in assemble(reader, plan.row_groups, batches):
            assembled += clock.lap() / len(batches)
            reference = ray.put(columns)
            parts["put"].append(clock.lap())
            got = ray.get(reference)
            parts["get"].append(clock.lap())
            clip_batch(got, features)
            parts["tensors"].append(clock.lap())
            del reference, got
            clock.lap()
        parts["assemble"].append(assembled)
    return {name: median(values) for name, values in parts.items()}


class _Clock:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self._last = perf_counter()

    def lap(self) -> float:
        """Seconds since the last call."""
        last, self._last = self._last, perf_counter()
        return self._last - last


if __name__ == "__main__":
    main(sys.argv[1:])
