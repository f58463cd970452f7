"""The commands as a user types them: an ingest that is killed, a run that is evaluated."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.train.command import TrainFlags, train
from tests.drills.runs import kill_group
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.errors import DatasetError
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration


@pytest.mark.long
def test_a_killed_ingest_resumes_to_the_same_data_set(tmp_path: Path, local_ray: None) -> None:
    out = tmp_path / "killed"
    words = ["ingest", "synthetic", "--num-clips", "3000", "--videos-per-shard", "20", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *words],
        start_new_session=True,
        env={**os.environ, "RAY_ADDRESS": "local"},
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 3600
    while len(list(out.glob("_ingest/*-*.json"))) < 3:
        assert process.poll() is None, "the ingest ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kill_group(process)
    with pytest.raises(DatasetError, match="interrupted"):
        Manifest.load(str(out))
    source = Synthetic(num_clips=3000)
    ingest(source, IngestFlags(out=str(out), videos_per_shard=20))
    ingest(source, IngestFlags(out=str(tmp_path / "undisturbed"), videos_per_shard=20))
    for name, uri in splits(str(out)).items():
        assert Manifest.load(uri).fingerprint == Manifest.load(str(tmp_path / "undisturbed" / name)).fingerprint


def test_evaluation_is_printed_and_logged(
    world: Path, tmp_path: Path, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = override(preset("capsule-howto-tiny"), {"training.epochs": 1, "scaling.workers": 0})
    flags = TrainFlags(str(world), out=str(tmp_path / "run"), experiment="evaluated", register="vtr-evaluated")
    finished = train(config, flags)
    sets = (str(world / "val"), str(world / "test"))
    assert finished.registered == "models:/vtr-evaluated/1"
    results = evaluate(EvaluateFlags("models:/vtr-evaluated@champion", sets, experiment="evaluated"))
    printed = capsys.readouterr().out
    assert [result.name for result in results] == ["val", "test"]
    assert {d.name for d in results[0].directions} == {"t2v", "v2t", "t2va", "va2t", "v2a", "a2v"}
    for word in ("text → video", "chance", "MLflow run", "vtr-evaluated@champion"):
        assert word in printed
    client = MlflowClient(own_tracking_store)
    experiment = client.get_experiment_by_name("evaluated")
    assert experiment is not None
    runs = {run.data.tags["stage"]: run for run in client.search_runs([experiment.experiment_id])}
    logged = runs["evaluate"].data
    expected = 100 * results[1].directions[0].metrics.recall[10]
    assert logged.metrics["test/test/t2v/r10"] == pytest.approx(expected)
    assert logged.tags["mlflow.parentRunId"] == finished.mlflow_run_id
    assert runs["evaluate"].info.status == "FINISHED"
