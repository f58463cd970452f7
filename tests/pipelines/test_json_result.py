"""With --json a command's result is alone on standard output, whatever it tells people meanwhile."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from pipelines.cli import run
from pipelines.report.json_result import json_alone
from pipelines.train.finished import Finished, print_end
from tests.builders.toy import toy_dataset


def test_what_is_told_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with json_alone(True):
        sys.stdout.write("for people\n")
    with json_alone(False):
        sys.stdout.write("for both\n")
    found = capsys.readouterr()
    assert (found.out, found.err) == ("for both\n", "for people\n")


def test_an_ingest_tells_what_it_wrote_and_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "d")
    run("ingest", ["synthetic", "--num-clips", "20", "--workers", "0", "--out", out, "--json"])
    told = capsys.readouterr()
    found = json.loads(told.out)
    (written,) = found["data_sets"]
    assert (written["uri"], written["kind"], written["shards"]) == (f"{out}/train", "clips/1", 1)
    assert found["dropped"] == {}
    assert "listing videos and words" in told.err


def test_an_import_of_weights_tells_their_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = tmp_path / "w.pth", str(tmp_path / "w.safetensors")
    torch.save({"a": torch.zeros(2, 3), "b": torch.zeros(4)}, source)
    run("import", ["weights", str(source), "--out", made, "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out) == {"file": made, "tensors": 2, "values": 10}
    assert "2 tensors, 10 values" in told.err


def test_an_export_tells_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def _export(flags: Any, folder: str) -> dict[str, object]:
        sys.stdout.write(f"exported    {folder}\n")
        return {"model": flags.checkpoint, "onnx": {}}

    monkeypatch.setattr("pipelines.export.command._export", _export)
    to = str(tmp_path / "x")
    run("export", ["runs/a", "--to", to, "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out) == {"exported": to, "model": "runs/a", "onnx": {}}
    assert f"exported    {to}" in told.err


@pytest.mark.parametrize(("further", "code"), [([], 0), (["--no-wait"], None)])
def test_a_submission_tells_its_id(
    further: list[str], code: int | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.submit.command.submit", lambda flags, command: 0)
    run("submit", ["--json", "--submission-id", "mine", *further, "--", "train", "capsule-howto-tiny", "--data", "d"])
    assert json.loads(capsys.readouterr().out) == {"submission_id": "mine", "exit_code": code}


def test_a_training_tells_its_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    print_end(Finished("runs/a", "runs/a/checkpoints/x", "sqlite:///mlflow.db", None, ""), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["run"], found["checkpoint"], found["mlflow_run_id"]) == ("runs/a", "runs/a/checkpoints/x", None)


def test_a_training_ends_with_a_command_that_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    print_end(Finished("runs/a", "runs/a/x", "sqlite:///mlflow.db", None, "", validation="data/mine/val"))
    assert capsys.readouterr().out.splitlines()[-1] == "next        vtr evaluate runs/a/x --data data/mine/val"


@pytest.mark.parametrize("words", [["--json", "-"], ["--json=-"]])
def test_an_evaluation_prints_what_it_would_write(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy_dataset(tmp_path / "d")

    def evaluate(flags: Any) -> None:
        sys.stdout.write("a table\n")
        Path(flags.json).write_text('{"r1": 1}\n')

    monkeypatch.setattr("pipelines.evaluate.retrieval.evaluate", evaluate)
    run("evaluate", ["c", *words, "--data", str(tmp_path / "d")])
    told = capsys.readouterr()
    assert json.loads(told.out) == {"r1": 1}
    assert told.err == "a table\n"
