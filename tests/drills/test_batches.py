"""A batch with features that are not numbers: skipped, counted and named; the rest of the run is as without a fault."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from mlflow import MlflowClient

from pipelines.train.command import TrainFlags, resume, train
from tests.drills import runs
from tests.drills.conftest import Record
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.shards.shard_file import GroupTable, write_shard
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, load_checkpoint

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux, pytest.mark.usefixtures("local_ray")]
KEPT = {"training.checkpoint_every": 1, "training.keep_checkpoints": 2 * runs.STEPS, **runs.LEARNT}


def with_nan(world: Path, folder: Path, is_bad: Callable[[int, int], bool]) -> tuple[Path, list[str]]:
    """The data set with a NaN in the first feature of the rows of its first shard that are bad, and their clips' names.

    is_bad: of a row group of that shard and a row of it.
    """
    shutil.copytree(world, folder)
    manifest = Manifest.load(str(folder / "train"))
    shard = manifest.shards[0]
    file = pq.ParquetFile(folder / "train" / shard.file)
    groups, names = [], []
    for index, counts in enumerate(shard.row_groups):
        table = file.read_row_group(index)
        column = table.schema.names.index(manifest.schema.features[0].name)
        cells = [bytearray(cell) for cell in table.column(column).to_pylist()]
        for row in (row for row in range(len(cells)) if is_bad(index, row)):
            cells[row][:2] = np.float16(np.nan).tobytes()
            names.append(f"clip {table['clip_id'][row]} of video {table['video_id'][row]}")
        changed = pa.array([bytes(cell) for cell in cells], table.schema.field(column).type)
        groups.append(GroupTable(table.set_column(column, table.schema.field(column), changed), counts))
    written = write_shard(manifest.schema, groups, locate(str(folder / "train" / shard.file)))
    dataclasses.replace(manifest, shards=(written, *manifest.shards[1:])).save()
    return folder, names


def rows_of(world: Path, step: int) -> set[tuple[int, int]]:
    """The rows of the first shard that the batch before `step` holds, as (row group, row)."""
    manifest, wanted = Manifest.load(str(world / "train")), runs.config(2, **KEPT)
    plan = Plan(manifest, wanted.batch, wanted.seed)
    batch = next(batch for batch in plan.window(plan.window_of(step - 1)) if batch.step == step - 1)
    rows = zip(batch.group.tolist(), batch.row.tolist(), strict=True)
    return {(group, row) for group, row in rows if group < len(manifest.shards[0].row_groups)}


def test_a_batch_with_nan_is_skipped(world: Path, tmp_path: Path, own_tracking_store: str, record: Record) -> None:
    bad = min(rows_of(world, 4) - rows_of(world, 1) - rows_of(world, runs.STEPS))
    data, names = with_nan(world, tmp_path / "data", lambda group, row: (group, row) == bad)
    run, killed = tmp_path / "run", tmp_path / "killed"
    finished = train(runs.config(2, **KEPT), TrainFlags(data=str(data), out=str(run)))
    skipped = [event["step"] for event in runs.events(run, "not_finite")]
    assert 4 in skipped
    assert not {1, runs.STEPS} & set(skipped)
    for event in runs.events(run, "not_finite"):
        assert event["clips"] == names
        assert event["places"] == [f"part-00000.parquet (row group {bad[0]})"]
    assert finished.faults == f"{len(skipped)} skipped steps"
    assert runs.steps(run) == [step for step in range(1, runs.STEPS + 1) if step not in skipped]
    assert np.isfinite(runs.losses(run)).all()
    counts = {
        point["step"]: point["train/skipped_steps"] for point in runs.points(run) if "train/skipped_steps" in point
    }
    assert counts == {step: sum(s <= step for s in skipped) for step in range(1, runs.STEPS + 1)}
    for step in skipped:
        _assert_same_state(state(run, step - 1), state(run, step))
    metrics = MlflowClient(own_tracking_store).get_run(str(finished.mlflow_run_id)).data.metrics
    assert metrics["train/skipped_steps"] == len(skipped)

    process = runs.start(data, killed, runs.config(2, **KEPT))
    runs.wait_until(lambda: runs.has_checkpoint(killed, f"step-{skipped[0]:08d}"), process)
    runs.kill_group(process)
    resume(str(killed))
    assert runs.losses(killed) == runs.losses(run)
    assert runs.steps(killed) == runs.steps(run)
    expected, found = runs.weights(run, runs.STEPS), runs.weights(killed, runs.STEPS)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    record("a batch with NaN features", "skipped, counted and named")


def state(run: Path, step: int) -> Checkpoint:
    return load_checkpoint(locate(str(run)) / "checkpoints" / f"step-{step:08d}", SYSTEMS)


def _assert_same_state(before: Checkpoint, after: Checkpoint) -> None:
    """Nothing that learns has changed: weights, their average, the loss's parameters, the optimiser's moments."""
    assert before.trained is not None
    assert after.trained is not None
    for one, other in (
        (before.model, after.model),
        (before.trained, after.trained),
        (before.objective, after.objective),
    ):
        assert all(torch.equal(one[name], other[name]) for name in one)
    for index, moments in before.optimizer["state"].items():
        for name, value in moments.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(after.optimizer["state"][index][name]))
