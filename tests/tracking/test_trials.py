"""A sweep's parent run: opened once, reopened when it is resumed, closed with its findings and its children."""

from dataclasses import replace
from pathlib import Path

from mlflow import MlflowClient

from tests.builders.toy import toy_dataset
from vtr_core.tracking.run import open_run
from vtr_core.tracking.trials import PARENT, Outcome, SweepPage, close_sweep, open_sweep

PAGE = SweepPage("sweep-tiny", {"space": "tiny"}, {"num_samples": 2}, {})
OUTCOME = Outcome({"val/t2v/sum_r": 60.0}, 12, {"best_trial": "003"}, {"figures/a.svg": "<svg/>"})


def test_parent_and_children(tmp_path: Path, tracking_store: str) -> None:
    data = toy_dataset(tmp_path / "data")[0]
    parent = open_sweep(tracking_store, "e", None, replace(PAGE, inputs={"training": data}))
    assert parent is not None
    late = open_run(tracking_store, "e", "trial-000", {})
    known = open_run(tracking_store, "e", "trial-001", {PARENT: parent.run_id})
    assert late is not None
    assert known is not None
    again = open_sweep(tracking_store, "e", parent.run_id, PAGE)
    assert again == parent
    assert close_sweep(parent, "FINISHED", OUTCOME, [late.run_id, known.run_id])
    client = MlflowClient(tracking_store)
    run = client.get_run(parent.run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "sweep-tiny")
    assert run.data.metrics == {"val/t2v/sum_r": 60.0}
    assert run.data.params == {"num_samples": "2"}
    assert run.data.tags["best_trial"] == "003"
    assert run.data.tags["stage"] == "sweep"
    assert client.get_run(late.run_id).data.tags[PARENT] == parent.run_id
    assert [one.dataset.digest for one in run.inputs.dataset_inputs] == [data.fingerprint[:32]]
    assert {item.path for item in client.list_artifacts(parent.run_id)} == {"environment.json", "figures"}
    assert [item.path for item in client.list_artifacts(parent.run_id, "figures")] == ["figures/a.svg"]


def test_an_interrupted_sweep_has_no_findings(tracking_store: str) -> None:
    parent = open_sweep(tracking_store, "e", None, PAGE)
    assert parent is not None
    assert close_sweep(parent, "KILLED", None, [])
    assert MlflowClient(tracking_store).get_run(parent.run_id).info.status == "KILLED"


def test_a_store_that_is_away_costs_the_log_only(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert open_sweep(f"sqlite:///{blocked}/mlflow.db", "e", None, PAGE) is None
