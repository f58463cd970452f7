"""The embedding of a data set as a plan of recorded shard tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from vtr_core import storage
from vtr_core.config.override import record
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.errors import DatasetError, RunConflict
from vtr_core.fingerprint import fingerprint
from vtr_core.retrieval.embed.stored_embeddings import FILE, EmbeddingSet, StoredShard, load_embeddings, write_rows
from vtr_core.storage import Location
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import embed_rows

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

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for embeddings with the same content."""
        return fingerprint([self.model, self.manifest.fingerprint, self.similarity, SHARD_ROWS])

    def record(self, task: EmbedTask) -> Location:
        """The record file of the finished `task`."""
        return self.out / RECORDS / f"{task.index:05d}.json"


def plan_embedding(loaded: TrainedModel, manifest: Manifest, out: Location, similarity: str) -> EmbedPlan:
    """The shard tasks of a data set, planned by its row groups; similarity: by which its vectors are compared."""
    tasks = tuple(EmbedTask(index, tuple(places)) for index, places in enumerate(shard_places(manifest)))
    return EmbedPlan(out, loaded.uri, model_fingerprint(loaded.model), manifest, similarity, tasks)


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
    if not storage.exists(plan.out / FILE):
        return False
    stored = load_embeddings(plan.out.uri)
    if (stored.model_fingerprint, stored.data_fingerprint) != (plan.model, plan.manifest.fingerprint):
        raise RunConflict(f"{plan.out} already holds other embeddings; delete it or choose another --out")
    return True


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
    rows = embed_rows(loaded.model, loaded.config, plan.manifest, loaded.vocabulary, task.places)
    shard, dims = write_rows(rows, plan.out / task.file), {name: part.shape[1] for name, part in rows.vectors.items()}
    storage.write_json(plan.record(task), {"shard": asdict(shard), "dims": dims})
    return shard.rows


def finish(plan: EmbedPlan) -> EmbeddingSet:
    """Write the manifest from the tasks' records, and delete these and what killed writers left."""
    records = [_read(plan, task) for task in plan.tasks]
    stored = EmbeddingSet(
        checkpoint=plan.checkpoint,
        model_fingerprint=plan.model,
        data=plan.manifest.uri,
        data_fingerprint=plan.manifest.fingerprint,
        shards=tuple(task.shard for task in records),
        similarity=plan.similarity,
        dims=records[0].dims,
    )
    storage.write_json(plan.out / FILE, stored.to_json())
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
