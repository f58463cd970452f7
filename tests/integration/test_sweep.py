"""Whole sweeps: what they leave; killed and resumed without a trial lost or doubled; nothing stays reserved."""

import json
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from ray.util import placement_group_table

from pipelines.sweep.command import SweepFlags
from pipelines.sweep.run import sweep
from tests.drills.runs import kill_group, start_command, wait_until
from vtr_core.errors import DatasetError, TrainingError

pytestmark = pytest.mark.integration
SMALL = {
    "model.embedding_dim": 16,
    "model.words.hidden_dim": 16,
    "batch.clips_per_video": 3,
    "training.epochs": 4,
    "training.log_every": 1,
    "scaling.workers": 0,
}
SETTINGS = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
SEARCH = ["--num-samples", "4", "--search", "random", "--max-concurrent", "1", "--experiment", "killed"]


def trials(out: Path) -> list[dict[str, Any]]:
    file = out / "trials.json"
    return json.loads(file.read_text()) if file.exists() else []


def ended(out: Path) -> int:
    return sum(row["state"] in ("finished", "stopped") for row in trials(out))


def children(client: MlflowClient, out: Path) -> tuple[Run, list[Run]]:
    parent = json.loads((out / "sweep.json").read_text())["mlflow_run_id"]
    run = client.get_run(parent)
    found = client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{parent}'")
    return run, list(found)


@pytest.mark.long
def test_killed_and_resumed(world: Path, tmp_path: Path, own_tracking_store: str) -> None:
    out = tmp_path / "sweep"
    workers = ["--scaling.workers", "1"]
    words = ["sweep", "capsule-howto-tiny", "--data", str(world), "--out", str(out), *SEARCH, *SETTINGS, *workers]
    process = start_command(words)

    def in_the_middle() -> bool:
        return ended(out) >= 1 and any(row["state"] == "running" and row["reports"] for row in trials(out))

    wait_until(in_the_middle, process)
    kill_group(process)
    before = {row["number"]: row for row in trials(out) if row["state"] in ("finished", "stopped")}
    resumed = start_command(["sweep", "--resume", str(out)])
    said, _ = resumed.communicate(timeout=3600)
    assert resumed.returncode == 0, said

    rows = trials(out)
    assert all(rows[number]["reports"] == row["reports"] for number, row in before.items())
    check_end(out, 4, said, MlflowClient(own_tracking_store))


def check_end(out: Path, num_trials: int, said: str, client: MlflowClient) -> None:
    """Every trial ended once, MLflow has all of them below the sweep, and the best one is the champion."""
    rows = trials(out)
    assert [row["number"] for row in rows] == list(range(num_trials))
    assert {row["state"] for row in rows} <= {"finished", "stopped"}
    assert f"vtr train --config {out}/trials/" in said
    assert "models:/vtr-capsule-howto-tiny@champion" in said

    parent, runs = children(client, out)
    assert parent.info.status == "FINISHED"
    assert sorted(run.info.run_name for run in runs) == [f"trial-{number:03d}" for number in range(num_trials)]
    for run in runs:
        row = rows[int(run.data.tags["trial"])]
        assert run.info.status == "FINISHED"
        assert run.data.tags.get("stopped_early") == ("asha" if row["state"] == "stopped" else None)
        assert run.data.params["model.num_capsules"] == str(row["point"]["model.num_capsules"])
        assert {name.partition("/")[0] for name in run.data.metrics} == {"train", "val"}
        best = max(point.value for point in client.get_metric_history(run.info.run_id, "val/t2v/sum_r"))
        assert best == pytest.approx(row["objective"], rel=1e-12)  # the store rounds
    best_row = max(rows, key=lambda row: row["objective"])
    assert parent.data.metrics["val/t2v/sum_r"] == pytest.approx(best_row["objective"], rel=1e-12)
    champion = client.get_model_version_by_alias("vtr-capsule-howto-tiny", "champion")
    record = json.loads((out / "trials" / parent.data.tags["best_trial"] / "run.json").read_text())
    assert champion.run_id == record["mlflow_run_id"]
    assert (out / "best_trials.json").exists()


@pytest.mark.long
@pytest.mark.usefixtures("local_ray")
def test_trials_that_wait_get_the_room_of_those_that_were_stopped(world: Path, tmp_path: Path) -> None:
    """Four trials where two fit; afterwards nothing stays reserved."""
    out = tmp_path / "room"
    flags = SweepFlags(data=str(world), num_samples=4, search="random", max_concurrent=2, out=str(out))
    sweep("capsule-howto-tiny", flags, {**SMALL, "scaling.workers": 1})
    assert {row["state"] for row in trials(out)} <= {"finished", "stopped"}
    assert {group["state"] for group in placement_group_table().values()} == {"REMOVED"}


@pytest.mark.long
@pytest.mark.usefixtures("local_ray")
def test_failed_trials_do_not_end_a_sweep_before_its_time(
    world: Path, tmp_path: Path, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "failed"
    flags = SweepFlags(data=str(world), num_samples=2, search="random", scheduler="none", out=str(out))
    with pytest.raises(TrainingError, match=r"no trial came to a validation: TrainingError: .*not finite"):
        sweep("capsule-howto-tiny", flags, {**SMALL, "optimizer.learning_rate": 1e30, "training.max_nonfinite": 1})
    assert [row["state"] for row in trials(out)] == ["failed", "failed"]
    parent, runs = children(MlflowClient(own_tracking_store), out)
    assert [run.info.status for run in [parent, *runs]] == ["FAILED"] * 3


def test_without_validation_data_nothing_starts(world: Path, tmp_path: Path) -> None:
    out = tmp_path / "none"
    with pytest.raises(DatasetError, match="has no validation split"):
        sweep("capsule-howto-tiny", SweepFlags(data=str(world / "train"), out=str(out)), {})
    assert not out.exists()
