"""`vtr train --profile`, in this process."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.artifacts import load_text

from pipelines.train.command import TrainFlags, train
from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset
from vtr_core.train.loop.recorder import STEPS

CONFIG = override(
    preset("capsule-howto-tiny"),
    {"scaling.workers": 0, "batch.videos": 2, "batch.clips_per_video": 1, "training.epochs": 100},
)


@pytest.mark.long
def test_a_few_steps_are_profiled(tmp_path: Path, own_tracking_store: str) -> None:
    """The trace names operators of the backward pass and the steps that were recorded; MLflow has the same files."""
    data, folder = toy_dataset(tmp_path / "data")[0], tmp_path / "run"
    config = override(CONFIG, {"training.max_steps": STEPS + 1})
    run = train(config, TrainFlags(data.uri, out=str(folder), profile=True))
    written = {name: (folder / "profile" / name).read_text() for name in ("trace.json", "operators.txt")}
    names = {event.get("name") for event in json.loads(written["trace.json"])["traceEvents"]}
    assert "aten::mm" in names
    assert {name for name in names if str(name).startswith("ProfilerStep#")} == {f"ProfilerStep#{n}" for n in (5, 6, 7)}
    assert "Self CPU" in written["operators.txt"]
    assert run.mlflow_run_id is not None
    uri = MlflowClient(own_tracking_store).get_run(run.mlflow_run_id).info.artifact_uri
    assert {name: load_text(f"{uri}/profile/{name}") for name in written} == written


def test_a_run_that_is_too_short_is_refused(tmp_path: Path) -> None:
    data = toy_dataset(tmp_path / "data")[0]
    with pytest.raises(ConfigError, match="--profile needs 8 steps, the run has 7"):
        train(override(CONFIG, {"training.max_steps": 7}), TrainFlags(data.uri, profile=True))
