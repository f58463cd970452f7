"""Embedding by actors of Ray Data, each with a copy of the model; every actor writes its shards itself."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import torch
from ray.data import ActorPoolStrategy, DataContext

from pipelines.embed.command import EmbedFlags
from pipelines.ray_session import connect
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import DatasetError, VtrError
from vtr_core.retrieval.embed.embedding_job import EmbedPlan, EmbedTask, do
from vtr_core.systems.registry import Systems
from vtr_core.train.checkpoint.trained_model import read_model

if TYPE_CHECKING:
    from vtr_core.train.checkpoint.trained_model import LoadedModel


class _Embedder:
    """Maps {"task": positions of shard tasks} to {"rows": rows written, "error": the fault or ""}."""

    def __init__(self, plan: EmbedPlan, systems: Systems, device: str, threads: int) -> None:
        torch.set_num_threads(threads)  # those of the evaluation on this machine: the same order of summation
        self._plan = plan
        self._loaded: LoadedModel = read_model(plan.checkpoint, systems, device)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        results = [self._written(self._plan.tasks[int(position)]) for position in batch["task"]]
        return {"rows": np.array([rows for rows, _ in results]), "error": np.array([error for _, error in results])}

    def _written(self, task: EmbedTask) -> tuple[int, str]:
        try:
            return do(self._plan, self._loaded, task), ""
        except VtrError as error:
            return 0, str(error)


def embed_on_ray(plan: EmbedPlan, tasks: Sequence[EmbedTask], flags: EmbedFlags) -> Iterator[int]:
    """The rows of every shard, in order of completion. Faults of the data are raised as DatasetError."""
    if not tasks:
        return
    connect(worker_logs=flags.worker_logs)
    DataContext.get_current().enable_progress_bars = False
    threads = torch.get_num_threads()
    resources = ray.cluster_resources()
    gpus = flags.gpus_per_model if resources.get("GPU") else 0.0
    room = resources["GPU"] / gpus if gpus else resources.get("CPU", 1) / threads
    most = min(len(tasks), max(1, math.floor(room)))
    copies = min(most, flags.workers or most)
    rows = ray.data.from_items([{"task": task.index} for task in tasks], override_num_blocks=len(tasks))
    written = rows.map_batches(
        _Embedder,
        fn_constructor_args=(plan, SYSTEMS, "cuda" if gpus else "cpu", threads),
        batch_size=1,
        compute=ActorPoolStrategy(min_size=1, max_size=copies, initial_size=copies),
        num_cpus=0 if gpus else min(threads, resources.get("CPU", 1)),
        num_gpus=gpus or None,
    )
    for row in written.iter_rows():
        if row["error"]:
            raise DatasetError(str(row["error"]))
        yield int(row["rows"])
