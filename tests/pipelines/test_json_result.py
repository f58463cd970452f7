"""With --json a command's result is alone on standard output, whatever it tells people meanwhile."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from pipelines.cli import run
from pipelines.tables.command import PAPERS
from pipelines.train.reports import Finished, print_end


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
        return {"model": flags.checkpoint}

    monkeypatch.setattr("pipelines.export._export", _export)
    to = str(tmp_path / "x")
    run("export", ["runs/a", "--to", to, "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out) == {"exported": to, "model": "runs/a"}
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
    print_end(Finished("a b", "a b/x", "sqlite:////a b/mlflow.db", "7", "", validation="films [HD]", task="captioning"))
    *_, ui, end = capsys.readouterr().out.splitlines()
    assert ui.split(maxsplit=3)[-1] == "'sqlite:////a b/mlflow.db'"
    assert end == "next        vtr evaluate 'a b/x' --task captioning --data 'films [HD]'"


def _evaluates(flags: Any) -> None:
    """In the place of an evaluation: tells a table, and writes its metrics where it is asked to."""
    sys.stdout.write("a table\n")
    if flags.out is not None:
        Path(flags.out).write_text('{"r1": 1}\n')


@pytest.mark.parametrize("words", [["--json"], ["--json", "--out", "kept.json"]])
def test_an_evaluation_prints_what_it_would_write(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipelines.evaluate.retrieval.evaluate", _evaluates)
    run("evaluate", [*words, "c", "--data", "d"])
    told = capsys.readouterr()
    assert json.loads(told.out) == {"r1": 1}
    assert told.err == "a table\n"
    assert (tmp_path / "kept.json").exists() == ("--out" in words)


def _writes(name: str) -> Any:
    """In the place of a command's work: writes its values, and tells people a line."""

    def work(flags: Any, *_: Any) -> str:
        folder = Path(flags.out)
        folder.mkdir()
        (folder / name).write_text('{"found": 1}\n')
        sys.stdout.write("for people\n")
        return "a page"

    return work


@pytest.mark.parametrize(
    ("command", "work", "values", "page"),
    [
        ("explain c --data d --query q", "pipelines.explain.queries.explain", "explanations.json", "explanations.html"),
        ("tables siamese --faces f", "pipelines.systems.siamese.face_rounds.tables", "tables.json", "tables.md"),
    ],
)
def test_pages_and_tables_tell_their_values(
    command: str, work: str, values: str, page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(work, _writes(values))
    name, *words = command.split()
    out = str(tmp_path / "out")
    run(name, [*words, "--out", out, "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out) == {"page": f"{out}/{page}", "found": 1}
    assert told.err.startswith("for people\n")


@pytest.mark.parametrize("paper", sorted({one.name for one in PAPERS} - {"siamese"}))
def test_a_paper_s_tables_are_told_without_data(paper: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("tables", [paper, "--out", str(tmp_path), "--json"])
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["page"] == f"{tmp_path}/tables.md"
    assert isinstance(found["figures"], dict)
    assert "\n| " in told.err
