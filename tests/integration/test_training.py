"""Whole undisturbed runs: what is trained does not depend on the number of workers, and what a run leaves."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.train.command import TrainFlags, train
from tests.drills.runs import LEARNT, STEPS, STEPS_PER_EPOCH, assert_equal_runs, config, events, losses
from vtr_core.config.override import override
from vtr_core.errors import ConfigError, RunConflict, TrainingError
from vtr_core.run.presets import preset

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("local_ray")]


@pytest.fixture(scope="module")
def one_worker(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run of one Ray Train worker."""
    out = tmp_path_factory.mktemp("runs") / "one"
    train(config(), TrainFlags(data=str(world), out=str(out), experiment="one"))
    return out


def test_without_ray_the_same_is_trained_bit_for_bit(one_worker: Path, world: Path, tmp_path: Path) -> None:
    train(config(0), TrainFlags(data=str(world), out=str(tmp_path / "run")))
    assert_equal_runs(one_worker, tmp_path / "run")
    assert [event["workers"] for event in events(tmp_path / "run", "started")] == [1]


@pytest.mark.long
def test_two_workers_train_what_the_process_itself_does(world: Path, tmp_path: Path) -> None:
    """Nor does it depend on micro-batches and blocks of the similarity matrix; candidates, a learnt temperature."""
    same = {"model.routing.dropout": 0.0, "batch.candidates": 2, **LEARNT}
    for workers, pieces in ((0, {}), (2, {"batch.micro_rows": 10, "loss.block_rows": 7})):
        flags = TrainFlags(data=str(world), out=str(tmp_path / str(workers)))
        train(config(workers, **same, **pieces), flags)
    alone, two = losses(tmp_path / "0"), losses(tmp_path / "2")
    assert len(alone) == STEPS
    assert two == pytest.approx(alone, rel=1e-6)


@pytest.mark.long
def test_two_workers_train_a_model_of_texts_as_the_process_does(world: Path, tmp_path: Path) -> None:
    """Each worker's encoder reads its own captions; what has the same caption may be in the other one's rows."""
    small = {"model.dropout": 0.0, "training.epochs": 3, "training.log_every": 1}
    for workers in (0, 2):
        flags = TrainFlags(data=str(world), out=str(tmp_path / str(workers)))
        train(override(preset("adapter"), {**small, "scaling.workers": workers}), flags)
    alone, two = losses(tmp_path / "0"), losses(tmp_path / "2")
    assert len(alone) == 3
    assert two == pytest.approx(alone, rel=1e-6)


def test_mlflow_has_the_run(one_worker: Path, own_tracking_store: str) -> None:
    record = json.loads((one_worker / "run.json").read_text())
    client = MlflowClient(own_tracking_store)
    run = client.get_run(record["mlflow_run_id"])
    assert run.info.status == "FINISHED"
    assert run.data.params["model.num_capsules"] == "4"
    assert run.data.params["loss.margin.value"] == "0.001"
    assert run.data.tags["preset"] == "capsule-howto-tiny"
    assert run.data.tags["workers"] == "1"
    assert {item.tags[0].value for item in run.inputs.dataset_inputs} == {"training", "validation"}
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert [point.step for point in history] == list(range(1, STEPS + 1))
    assert [point.value for point in history] == losses(one_worker)
    assert "val/t2v/r1" in run.data.metrics
    assert len(client.search_logged_models([run.info.experiment_id])) == 1


def test_a_failed_run_is_failed(world: Path, tmp_path: Path, own_tracking_store: str) -> None:
    out = tmp_path / "failed"
    with pytest.raises(ConfigError, match="val/nothing"):
        train(config(0, **{"training.metric": "val/nothing"}), TrainFlags(data=str(world), out=str(out)))
    run_id = json.loads((out / "run.json").read_text())["mlflow_run_id"]
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "FAILED"


def test_a_loss_that_stays_not_finite_ends_the_run(world: Path, tmp_path: Path) -> None:
    wild = config(0, **{"optimizer.learning_rate": 1e30, "training.max_nonfinite": 2, "training.validate_every": 3})
    with pytest.raises(TrainingError, match=r"not finite in 2 steps in a row.*part-00000\.parquet \(row group 0\)"):
        train(wild, TrainFlags(data=str(world), out=str(tmp_path / "wild")))


def test_a_second_run_does_not_take_the_folder(one_worker: Path, world: Path) -> None:
    with pytest.raises(RunConflict, match="--resume"):
        train(config(), TrainFlags(data=str(world), out=str(one_worker)))


def test_training_stops_early(world: Path, tmp_path: Path) -> None:
    patient = config(0, **{"training.epochs": 50, "training.patience": 2, "optimizer.learning_rate": 1e-12})
    train(patient, TrainFlags(data=str(world), out=str(tmp_path / "early")))
    assert len(losses(tmp_path / "early")) < 50 * STEPS_PER_EPOCH
