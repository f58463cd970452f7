"""`vtr explain`: the page of a checkpoint, and every fault named."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.cli import run
from pipelines.explain.command import main
from pipelines.systems.capsules.explain_capsules import ExplainFlags, explain
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.toy import toy_dataset
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, VtrError


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d", clips_of=[2, 3, 1, 4])[0]


def test_a_page_and_its_json_are_written_and_logged(data: Manifest, tmp_path: Path, own_tracking_store: str) -> None:
    model = capsule_checkpoint(tmp_path / "c", data)
    out = tmp_path / "out"
    report = explain(
        ExplainFlags(model, (data.uri, data.uri), str(out), capsules=True, experiment="explain", min_videos=1)
    )
    page, values = (out / "activations.html").read_text(), json.loads((out / "activations.json").read_text())
    assert values == json.loads(json.dumps(report))
    assert page.count('class="capsule"') == len(values["capsules"]) == 4
    assert [d["num_clips"] for d in values["datasets"]] == [10, 10]
    assert [d["absent"] for d in values["datasets"]] == [[], []]
    client = MlflowClient(own_tracking_store)
    (logged,) = client.search_runs([client.get_experiment_by_name("explain").experiment_id])
    assert logged.data.tags["stage"] == "explain"
    assert logged.info.status == "FINISHED"
    files = [file.path for file in client.list_artifacts(logged.info.run_id)]
    assert sorted(files) == ["activations.html", "activations.json", "config.json", "environment.json"]


def test_a_baseline_without_capsules_is_refused(data: Manifest, tmp_path: Path) -> None:
    model = capsule_checkpoint(tmp_path / "c", data, variant="fully-connected")
    with pytest.raises(ConfigError, match=r"model \(fully_connected\) has no capsules"):
        explain(ExplainFlags(model, (data.uri,), str(tmp_path / "out"), capsules=True))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["c", "--data", "d", "--out", "o"], "needs to know what to explain; there is --capsules"),
        (["c", "--capsules", "--data", "d"], "--out"),
        (["c", "--capsules", "--data", "none", "--out", "o"], "is not a data set"),
        (["c", "--capsules", "--data", "d", "--out", "o", "--topp", "3"], "did you mean --top?"),
        (["c", "--capsules", "--data", "d", "--out", "o", "--top", "0"], "--top is 0; it must be 1 or more"),
        (["none", "--capsules", "--data", "d", "--out", "o"], "is not a checkpoint"),
    ],
)
def test_faults_are_named(
    words: list[str], message: str, data: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VtrError) as fault:
        run("explain", words)
    assert message in str(fault.value)
    assert not (tmp_path / "o").exists()


def test_without_words_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert "usage: vtr explain" in capsys.readouterr().out
