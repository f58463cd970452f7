"""With --json a command's result is alone on standard output, whatever it tells people meanwhile."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

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


def test_a_training_tells_its_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    print_end(Finished("runs/a", "runs/a/checkpoints/x", "sqlite:///mlflow.db", None, ""), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["run"], found["checkpoint"], found["mlflow_run_id"]) == ("runs/a", "runs/a/checkpoints/x", None)


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
