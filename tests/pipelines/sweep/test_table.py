"""A sweep: its parent run in MLflow, what a trial needs; its end: ranking, tables, commands that train the same."""

import io
import json
import shlex
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from mlflow import MlflowClient
from rich.console import Console

from pipelines.arguments import parse_with_changes
from pipelines.sweep.folder import PARENT, Outcome, SweepFolder, TrialRow, close_parent, open_parent
from pipelines.sweep.outcome import command, ranked, table, to_json, training_flags
from pipelines.sweep.tune_trials import trial_bundle
from pipelines.train.command import TrainFlags
from tests.builders.sweep_records import sweep_record
from tests.builders.toy import toy_dataset
from tune_spaces.spaces import build_space, search_spaces
from vtr_core.config.override import override
from vtr_core.config.run import ScalingConfig
from vtr_core.config.search_space import extremes
from vtr_core.ray_private import HEAD
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.run import open_run

OF_DATA = {
    "model.inputs": {"features": {"video": 32}, "num_words": 10, "word_dim": 300, "max_words": 20},
    "model.words.train_vectors": True,
}
RECORD = sweep_record("data/a b")
ROWS = [
    TrialRow(0, {"model.num_capsules": 8}, "stopped", [[1.0, 40.0]], 10, 40.0),
    TrialRow(1, {"model.num_capsules": 16, "loss.temperature": 0.0712345}, "finished", [[10.0, 60.0]], 100, 60.0),
    TrialRow(2, {"model.num_capsules": 4}, "failed", reason="TrainingError: it, too"),
    TrialRow(3, {"model.num_capsules": 32}, "finished", [[10.0, 60.0]], 100, 60.0),
]


@pytest.mark.parametrize("name", search_spaces(SYSTEMS))
def test_a_pasted_command_trains_the_same(name: str) -> None:
    space, random = build_space(name, SYSTEMS), Random(0)
    start = preset(space.preset)
    trained = start.model.system().trained_vectors(start.model)
    of_data = {"model.inputs": OF_DATA["model.inputs"], **({} if trained is None else {trained: True})}
    changed = override(start, {"batch.videos": 64, "training.patience": 3, **of_data})
    for point in [*extremes(space), *(space.sample(random) for _ in range(3))]:
        config = space.applied(changed, point)
        words = shlex.split(command(start, config, RECORD))
        assert words[:3] == ["vtr", "train", space.preset]
        flags, changes = parse_with_changes(TrainFlags, words[3:], "vtr train")
        assert (flags.data, flags.validation) == ("data/a b", "data/val")
        assert override(override(start, changes), of_data) == config


def test_flags_are_few() -> None:
    config = override(preset("capsule-howto-tiny"), {"loss.kind": "info_nce", "loss.temperature": 0.5, **OF_DATA})
    assert training_flags(preset("capsule-howto-tiny"), config) == {"loss.kind": "info_nce", "loss.temperature": 0.5}


def test_ranking_leaves_out_what_failed() -> None:
    assert [row.number for row in ranked(ROWS)] == [1, 3, 0]


def test_json_has_all() -> None:
    values = json.loads(json.dumps(to_json(ROWS, {1: "vtr train"})))
    assert [value["number"] for value in values] == [1, 3, 0, 2]
    assert values[0]["command"] == "vtr train"
    assert values[3]["reason"] == "TrainingError: it, too"


def test_the_table_shows_the_best() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table(ROWS, "val/t2v/sum_r", most=2))
    shown = console.export_text()
    assert "60.000" in shown
    assert "0.0712" in shown
    assert "40.000" not in shown


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
