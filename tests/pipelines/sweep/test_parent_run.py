"""A sweep's parent run: opened once, reopened when it is resumed, closed with its children; and what a trial needs."""

from dataclasses import replace
from pathlib import Path

from mlflow import MlflowClient

from pipelines.sweep.folder import PARENT, Outcome, SweepFolder, close_parent, open_parent
from pipelines.sweep.tune_trials import trial_bundle
from tests.builders.sweep_records import sweep_record
from tests.builders.toy import toy_dataset
from vtr_core.config.run import ScalingConfig
from vtr_core.ray_private import HEAD
from vtr_core.storage import locate
from vtr_core.tracking.run import open_run

OUTCOME = Outcome({"val/t2v/sum_r": 60.0}, 12, {"best_trial": "003"}, {"best_trials.json": "[]"})


def test_parent_and_children(tmp_path: Path, tracking_store: str) -> None:
    data = toy_dataset(tmp_path / "data")[0]
    folder = SweepFolder(locate(str(tmp_path / "sweep")))
    record = replace(sweep_record(data.uri), validation=data.uri, experiment="e")
    parent = open_parent(folder, record, ["model.num_capsules", "loss"], tracking_store)
    assert parent is not None
    late, known = (open_run(tracking_store, "e", "trial", tags) for tags in ({}, {PARENT: parent.run_id}))
    assert late is not None
    assert known is not None
    record = replace(record, mlflow_run_id=parent.run_id)
    assert open_parent(folder, record, [], tracking_store) == parent
    close_parent(parent, "FINISHED", OUTCOME, [late.run_id, known.run_id])
    client = MlflowClient(tracking_store)
    run = client.get_run(parent.run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", f"sweep-{record.space}")
    assert run.data.metrics == {"val/t2v/sum_r": 60.0}
    assert run.data.params["varied"] == "model.num_capsules, loss"
    assert (run.data.tags["best_trial"], run.data.tags["stage"]) == ("003", "sweep")
    assert client.get_run(late.run_id).data.tags[PARENT] == parent.run_id
    assert {each.dataset.digest for each in run.inputs.dataset_inputs} == {data.fingerprint[:32]}
    assert "best_trials.json" in [item.path for item in client.list_artifacts(parent.run_id)]
    assert open_parent(folder, record, [], tracking_store) == parent
    close_parent(parent, "KILLED", None, [])
    assert client.get_run(parent.run_id).info.status == "KILLED"


def test_a_store_that_is_away_costs_the_log_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = SweepFolder(locate(str(tmp_path / "sweep")))
    assert open_parent(folder, sweep_record("data"), [], f"sqlite:///{tmp_path}/file/mlflow.db") is None


def test_what_starts_a_trials_workers_stays_on_the_head_and_takes_no_cpu() -> None:
    found = trial_bundle(ScalingConfig(workers=2), gpu=True)
    assert found.keys() == {HEAD}
    assert sum(found.values()) <= 0.001, "a thousand trials at once, as the head has 1 of it"


def test_a_trial_without_workers_takes_those_of_one_wherever_there_is_room() -> None:
    scaling = ScalingConfig(workers=0, cpus_per_worker=2)
    assert trial_bundle(scaling, gpu=False) == {"CPU": 2.0}
    assert trial_bundle(scaling, gpu=True) == {"CPU": 2.0, "GPU": 1.0}
