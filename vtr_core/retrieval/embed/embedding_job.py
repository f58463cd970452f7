"""The embedding of a data set as a plan of recorded shard tasks: vectors, or a system's other outputs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vtr_core import storage
from vtr_core.config.override import record
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.errors import ConfigError, DatasetError, RunConflict
from vtr_core.fingerprint import fingerprint
from vtr_core.retrieval.embed.stored_embeddings import (
    FILE,
    TABLE,
    EmbeddingSet,
    StoredShard,
    TableSet,
    load_embeddings,
    load_table_set,
    write_rows,
    write_table,
)
from vtr_core.storage import Location
from vtr_core.systems.implementation import Output, OutputSettings
from vtr_core.systems.loaded_model import TrainedModel, lacking
from vtr_core.systems.spaces import embed_rows
from vtr_core.systems.system import System

VECTORS = "vectors"
"""The name of what every model with a space of embeddings writes."""


def output_of(loaded: TrainedModel, name: str) -> Output:
    """The output `name` of the model's system; ConfigError, which names the models that have it, for another."""
    outputs = _outputs(loaded.config.model.system())
    if name in outputs:
        return outputs[name]
    known = sorted({VECTORS}.union(*map(_outputs, loaded.systems)))
    if name not in known:
        raise ConfigError(f"vtr embed: --write is {name!r}; models write {', '.join(known)}")
    raise lacking(loaded, f"vtr embed --write {name}", lambda system: name in _outputs(system))


def check_settings(known: Collection[str], name: str, settings: OutputSettings) -> None:
    """ConfigError for a setting that the output `name` does not take."""
    unknown = sorted(settings.keys() - set(known))
    if unknown:
        flags = [f"--{setting.replace('_', '-')}" for setting in (unknown[0], *sorted(known))]
        takes = ", ".join(flags[1:]) or "none"
        raise ConfigError(f"vtr embed --write {name}: {flags[0]} is no setting of it; it takes {takes}")


def _outputs(system: System) -> Mapping[str, Output]:
    return system.implementation().outputs


RECORDS = "_embed"
"""The folder of the records of finished tasks, removed once the manifest is written."""
SHARD_ROWS = 16_384
"""A shard holds consecutive row groups of at least so many rows, the last one the rest."""


@dataclass(frozen=True)
class EmbedTask:
    """A shard to write: its number and its row groups."""

    index: int
    places: tuple[RowGroup, ...]

    @property
    def file(self) -> str:
        """The shard's file name."""
        return f"part-{self.index:05d}.parquet"


@dataclass(frozen=True)
class EmbedPlan:
    """All shard tasks of an embedding into `out`, of one model and one data set."""

    out: Location
    checkpoint: str
    model: str
    """Fingerprint of the weights."""
    manifest: Manifest
    similarity: str
    tasks: Sequence[EmbedTask]
    output: str = VECTORS
    """What is written: vectors, or an output of the model's system."""
    settings: OutputSettings = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for embeddings with the same content."""
        output = [] if self.output == VECTORS else [self.output, dict(self.settings)]
        return fingerprint([self.model, self.manifest.fingerprint, self.similarity, SHARD_ROWS, *output])

    def record(self, task: EmbedTask) -> Location:
        """The record file of the finished `task`."""
        return self.out / RECORDS / f"{task.index:05d}.json"


def plan_embedding(loaded: TrainedModel, manifest: Manifest, out: Location, similarity: str) -> EmbedPlan:
    """The shard tasks of a data set, planned by its row groups; similarity: by which its vectors are compared."""
    tasks = tuple(EmbedTask(index, tuple(places)) for index, places in enumerate(shard_places(manifest)))
    return EmbedPlan(out, loaded.uri, model_fingerprint(loaded.model), manifest, similarity, tasks)


def plan_table(
    loaded: TrainedModel, manifest: Manifest, out: Location, output: str, settings: OutputSettings
) -> EmbedPlan:
    """The shard tasks of an output of the model's system; ConfigError or DatasetError where it cannot be written."""
    writer = output_of(loaded, output)
    check_settings(writer.settings, output, settings)
    writer.check(loaded, manifest, settings)
    return replace(plan_embedding(loaded, manifest, out, ""), output=output, settings=settings)


def shard_places(manifest: Manifest) -> Iterator[list[RowGroup]]:
    """The row groups of each shard."""
    places: list[RowGroup] = []
    rows = 0
    for place in row_groups(manifest):
        places.append(place)
        rows += sum(manifest.shards[place.shard].row_groups[place.index])
        if rows >= SHARD_ROWS:
            yield places
            places, rows = [], 0
    if places:
        yield places


def is_complete(plan: EmbedPlan) -> bool:
    """Whether the output folder already holds what is planned; RunConflict where it holds something else."""
    files = [file for file in (FILE, TABLE) if storage.exists(plan.out / file)]
    if not files:
        return False
    if files != [FILE if plan.output == VECTORS else TABLE] or not _is_planned(plan, finished(plan)):
        raise RunConflict(f"{plan.out} already holds other embeddings or tables; delete it or choose another --out")
    return True


def finished(plan: EmbedPlan) -> EmbeddingSet | TableSet:
    """What the output folder holds, see `is_complete`."""
    return load_embeddings(plan.out.uri) if plan.output == VECTORS else load_table_set(plan.out.uri)


def _is_planned(plan: EmbedPlan, stored: EmbeddingSet | TableSet) -> bool:
    same = (stored.model_fingerprint, stored.data_fingerprint) == (plan.model, plan.manifest.fingerprint)
    if isinstance(stored, TableSet):
        return same and (stored.output, stored.settings) == (plan.output, dict(plan.settings))
    return same


def begin(plan: EmbedPlan) -> list[EmbedTask]:
    """Claim the output and return the unfinished tasks; RunConflict where another embedding has begun there."""
    claim = plan.out / RECORDS / "plan.json"
    if not storage.exists(claim):
        storage.write_json(claim, {"fingerprint": plan.fingerprint})
    elif storage.read_json(claim) != {"fingerprint": plan.fingerprint}:
        raise RunConflict(
            f"{plan.out} holds an interrupted embedding of another model or data set; repeat that command to resume "
            "it, delete the folder, or choose another --out"
        )
    return [task for task in plan.tasks if not storage.exists(plan.record(task))]


def do(plan: EmbedPlan, loaded: TrainedModel, task: EmbedTask) -> int:
    """Compute and write one shard, then its record; returns its number of rows. Vectors are those of evaluation."""
    if plan.output == VECTORS:
        rows = embed_rows(loaded.model, loaded.config, plan.manifest, loaded.vocabulary, task.places)
        shard, dims = write_rows(rows, plan.out / task.file), {n: part.shape[1] for n, part in rows.vectors.items()}
    else:
        table = output_of(loaded, plan.output).table(loaded, plan.manifest, task.places, plan.settings)
        shard, dims = write_table(table, plan.out / task.file), {}
    storage.write_json(plan.record(task), {"shard": asdict(shard), "dims": dims})
    return shard.rows


def finish(plan: EmbedPlan) -> EmbeddingSet | TableSet:
    """Write the manifest from the tasks' records, and delete these and what killed writers left."""
    records = [_read(plan, task) for task in plan.tasks]
    common: dict[str, Any] = {
        "checkpoint": plan.checkpoint,
        "model_fingerprint": plan.model,
        "data": plan.manifest.uri,
        "data_fingerprint": plan.manifest.fingerprint,
        "shards": tuple(task.shard for task in records),
    }
    stored: EmbeddingSet | TableSet
    if plan.output == VECTORS:
        stored = EmbeddingSet(**common, similarity=plan.similarity, dims=records[0].dims)
    else:
        stored = TableSet(**common, output=plan.output, settings=dict(plan.settings))
    storage.write_json(plan.out / (FILE if plan.output == VECTORS else TABLE), stored.to_json())
    storage.delete_folder(plan.out / RECORDS)
    storage.delete_unpublished(plan.out)
    return stored


@dataclass(frozen=True)
class _TaskRecord:
    """That of a finished task."""

    shard: StoredShard
    dims: dict[str, int]


def _read(plan: EmbedPlan, task: EmbedTask) -> _TaskRecord:
    place = plan.record(task)
    try:
        value = storage.read_json(place)
        read = record(_TaskRecord, {**value, "shard": record(StoredShard, value["shard"])})
        if read.shard.file != task.file:
            raise ValueError(f"it is not of {task.file}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{place} is damaged ({error}); delete it, and repeat the command") from error
    return read
