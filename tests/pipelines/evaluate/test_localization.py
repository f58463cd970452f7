"""`vtr evaluate --task localization`: figures in a table, in MLflow and in a file; faults in one line."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.evaluate.command import main
from pipelines.evaluate.evaluation_flags import Background, LocalizationFlags
from pipelines.evaluate.localization import evaluate
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.toy import toy_dataset
from tests.builders.toy_steps import toy_steps
from vtr_core.errors import ConfigError, DatasetError, SchemaMismatch
from vtr_core.metrics.step_figures import StepFigures

FIGURES = {"recall_task", "iod_segment", "iou_segment"}


@pytest.fixture
def flags(tmp_path: Path) -> LocalizationFlags:
    manifest = toy_steps(tmp_path / "steps")
    checkpoint = capsule_checkpoint(tmp_path / "checkpoint", manifest)
    return LocalizationFlags(checkpoint, (str(tmp_path / "steps"),), draws=3, out=str(tmp_path / "figures.json"))


def test_figures_are_printed_written_and_logged(
    flags: LocalizationFlags, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (result,) = evaluate(replace(flags, experiment="localization-test"))
    printed = capsys.readouterr().out
    for part in ("one second per step", "chance", "IoD", "MLflow run"):
        assert part in printed
    assert "1 of 5 videos have no frames; their steps count as missed" in printed
    assert "1 of 5 videos have fewer seconds than steps" in printed
    assert "1 of 5 videos have no annotated segment; they are in no figure" in printed
    values = result.metric_values("test/steps")
    plain = {f"test/steps/{name}" for name in FIGURES}
    assert values.keys() == plain | {f"test/steps/{d}/{name}" for d in ("one_second", "spans") for name in FIGURES}
    assert result.metric_values("test/steps", "chance").keys() == values.keys()
    one_second, spans = (result.decodings[name]["model"].flat() for name in ("one_second", "spans"))
    assert values["test/steps/recall_task"] == 100 * one_second["recall_task"]
    assert values["test/steps/iou_segment"] == 100 * spans["iou_segment"]
    assert flags.out is not None
    written = json.loads(Path(flags.out).read_text())
    assert written["sets"]["steps"]["decodings"]["spans"]["model"] == spans
    assert (written["sets"]["steps"]["videos"], written["sets"]["steps"]["without_frames"]) == (5, 1)
    client = MlflowClient(own_tracking_store)
    experiment = client.get_experiment_by_name("localization-test")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert {name: run.data.metrics[name] for name in values} == pytest.approx(values)
    assert client.get_metric_history(run.info.run_id, "test/steps/recall_task")[0].step == 7
    assert (run.data.params["task"], run.data.params["window"]) == ("localization", "1")


def test_settings_change_what_they_should(flags: LocalizationFlags) -> None:
    flags = replace(flags, draws=1)
    (plain,), (again,) = evaluate(flags), evaluate(flags)
    assert plain.decodings == again.decodings
    (mean,) = evaluate(replace(flags, background="mean"))
    assert mean.decodings["one_second"]["model"] == plain.decodings["one_second"]["model"]
    scores = [s.scores.tolist() for s in plain.steps.videos]
    for changed in (replace(flags, window=3), replace(flags, audio=True), replace(flags, similarity="neg_euclidean")):
        (other,) = evaluate(changed)
        assert [s.scores.tolist() for s in other.steps.videos] != scores


def test_spans_under_a_distance_are_longer_than_a_second(flags: LocalizationFlags) -> None:
    """Every score is below 0: against a background of 0 a span would never be worth a second second."""

    def spans(background: Background | None) -> Mapping[str, StepFigures]:
        (result,) = evaluate(replace(flags, similarity="neg_euclidean", background=background))
        assert background == "zero_text" or all((video.scores <= 0).all() for video in result.steps.videos)
        return result.decodings["spans"]

    assert spans("mean") != spans("zero")
    (default,) = evaluate(replace(flags, similarity="neg_euclidean"))
    assert default.decodings["spans"] == spans("zero_text")
    spans("zero")
    assert flags.out is not None
    written = json.loads(Path(flags.out).read_text())
    assert written["background"] == "zero"
    assert written["similarity_trained_with"] == written["similarity_chosen_by"] == "dot"
    assert written["similarity_judged_by"] == "neg_euclidean"


def test_data_sets_of_clips_and_wrong_values_are_refused(flags: LocalizationFlags, tmp_path: Path) -> None:
    toy_dataset(tmp_path / "clips")
    with pytest.raises(SchemaMismatch, match="clips is clips/1, localisation reads steps/1"):
        main(["--task", "localization", flags.checkpoint, "--data", str(tmp_path / "clips")])
    for flag in ("--window", "--draws"):
        with pytest.raises(ConfigError, match=f"{flag} is 0; it must be 1 or more"):
            main(["--task", "localization", flags.checkpoint, "--data", flags.data[0], flag, "0"])
    with pytest.raises(ConfigError, match="did you mean --window"):
        main(["--task", "localization", flags.checkpoint, "--data", flags.data[0], "--windwo", "2"])
    with pytest.raises(DatasetError, match="is not a data set"):
        main(["--task", "localization", flags.checkpoint, "--data", str(tmp_path)])
