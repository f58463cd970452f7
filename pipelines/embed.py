"""`vtr embed`: flags, and the job on Ray."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from pipelines.arguments import json_alone, parse, print_help, print_json, wants_help
from pipelines.progress import Meter
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError, DatasetError, VtrError, command_line

if TYPE_CHECKING:
    from vtr_core.retrieval.embed.embedding_job import EmbedPlan, EmbedTask
    from vtr_core.retrieval.embed.stored_embeddings import EmbeddingSet
    from vtr_core.storage import Location
    from vtr_core.systems.system import Systems
    from vtr_core.train.checkpoint.trained_model import LoadedModel


@dataclass(frozen=True)
class EmbedFlags:
    """Flags of `vtr embed`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: str
    """Data set that the model reads."""
    out: str
    """Output folder or URI; the same command again resumes an interrupted one."""
    workers: int | None = None
    """0: in this process, without Ray. Otherwise a Ray Data job of at most so many copies of the model (default: as
    many as the cluster has room for)."""
    gpus_per_model: float = 1.0
    """GPUs per copy of the model, where the cluster has any; 0 computes on CPUs."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr embed", EmbedFlags)
        return
    flags = parse(EmbedFlags, argv, "vtr embed")
    with json_alone(flags.json):
        stored = embed(flags)
    if flags.json:
        print_json({"uri": flags.out, **stored.to_json()})


def embed(flags: EmbedFlags) -> "EmbeddingSet":
    """Write what is asked for of the data set, and print it; resumes an interrupted job of the same model and data."""
    from pipelines.evaluate.evaluation_flags import device
    from vtr_core.retrieval.embed.embedding_job import begin, finish, is_complete
    from vtr_core.retrieval.embed.stored_embeddings import load_embeddings
    from vtr_core.storage import check_writable, locate
    from vtr_core.train.checkpoint.trained_model import read_model

    if flags.workers is not None and flags.workers < 0:
        raise ConfigError(f"vtr embed: --workers is {flags.workers}; it must be 0 or more")
    out = locate(flags.out)
    check_writable(out)
    loaded = read_model(flags.checkpoint, SYSTEMS, device() if flags.workers == 0 else "cpu")
    plan = _plan(flags, loaded, out)
    if is_complete(plan):
        print("  it is there already, complete")
        return load_embeddings(out.uri)
    tasks = begin(plan)
    already = len(plan.tasks) - len(tasks)
    if already:
        print(f"  {already} of {len(plan.tasks)} shards were written before", flush=True)
    with Meter(len(plan.tasks), "shards", already) as meter:
        for done, rows in enumerate(_written(plan, tasks, loaded, flags), already + 1):
            meter.tell(done, f"the last with {rows:,} rows")
    stored = finish(plan)
    _report(stored, flags.out)
    return stored


def _plan(flags: EmbedFlags, loaded: "LoadedModel", out: "Location") -> "EmbedPlan":
    """The shards to write; ConfigError or DatasetError where model, data and flags do not go together."""
    from vtr_core.retrieval.embed.embedding_job import plan_embedding
    from vtr_core.run.inputs import usable_data
    from vtr_core.systems.spaces import DualSpaces, spaces_of

    config = loaded.config
    space = spaces_of(loaded, "vtr embed")
    manifest = usable_data(config.model, flags.data)
    space.check(config, manifest)
    similarity = space.concept_similarity(config) if isinstance(space, DualSpaces) else config.evaluation.similarity
    return plan_embedding(loaded, manifest, out, similarity)


def _written(
    plan: "EmbedPlan", tasks: "Sequence[EmbedTask]", loaded: "LoadedModel", flags: EmbedFlags
) -> Iterator[int]:
    """Write the shards of `tasks`; yields the rows of each, in order of completion."""
    if flags.workers == 0:
        from vtr_core.retrieval.embed.embedding_job import do

        return (do(plan, loaded, task) for task in tasks)

    return embed_on_ray(plan, tasks, flags)


def _report(stored: "EmbeddingSet", out: str) -> None:
    from vtr_core.fingerprint import short

    total = sum(shard.bytes for shard in stored.shards)
    shards = f"{len(stored.shards)} shards, {total / 1e6:.1f} MB"
    sizes = ", ".join(f"{name} {dim}" for name, dim in stored.dims.items())
    print(f"{stored.rows} rows ({sizes}), compared by {stored.similarity}; {shards}")
    print(f"model       {short(stored.model_fingerprint)}  {stored.checkpoint}")
    print(f"data        {short(stored.data_fingerprint)}  {stored.data}")
    words = [stored.checkpoint, "--data", stored.data, "--embeddings", out]
    print(f"next        {command_line('evaluate', *words)}")
    print(f"            {command_line('index', *words, '--out', 'URI')}")


class _Embedder:
    """Maps {"task": positions of shard tasks} to {"rows": rows written, "error": the fault or ""}."""

    def __init__(self, plan: "EmbedPlan", systems: "Systems", device: str, threads: int) -> None:
        import torch

        from vtr_core.train.checkpoint.trained_model import read_model

        torch.set_num_threads(threads)  # those of the evaluation on this machine: the same order of summation
        self._plan = plan
        self._loaded: LoadedModel = read_model(plan.checkpoint, systems, device)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        results = [self._written(self._plan.tasks[int(position)]) for position in batch["task"]]
        return {"rows": np.array([rows for rows, _ in results]), "error": np.array([error for _, error in results])}

    def _written(self, task: "EmbedTask") -> tuple[int, str]:
        from vtr_core.retrieval.embed.embedding_job import do

        try:
            return do(self._plan, self._loaded, task), ""
        except VtrError as error:
            return 0, str(error)


def embed_on_ray(plan: "EmbedPlan", tasks: "Sequence[EmbedTask]", flags: EmbedFlags) -> Iterator[int]:
    """The rows of every shard, in order of completion. Faults of the data are raised as DatasetError."""
    import ray
    import torch
    from ray.data import ActorPoolStrategy, DataContext

    from pipelines.ray_session import connect

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


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("embed")
