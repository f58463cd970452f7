"""`vtr runs`: what it says of runs and sweeps is what their folders hold."""

import json
from pathlib import Path

import pytest

from pipelines.cli import run
from pipelines.runs import runs_in
from pipelines.sweep.folder import SweepFolder, TrialTable
from tests.builders.sweep_records import sweep_record
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.train.fleet.lease import Lease

PRESET = "capsule-howto-tiny"


def _write(folder: Path, started: float, seed: int, values: list[float], *events: str) -> None:
    config = override(preset(PRESET), {"seed": seed})
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.model_dump(mode="json")))
    (folder / "run.json").write_text(json.dumps({"data": "data/mine", "validation": "data/val", "started": started}))
    points = [{"step": 10 * step, "time": 0.0, config.training.metric: value} for step, value in enumerate(values, 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
    lines = [{"time": 0.0, "event": event, "workers": 1, "step": 20, "at_chance": False} for event in events]
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    _write(tmp_path / "b", 1.0, 0, [3.0, 5.0, 4.0], "started", "finished")
    _write(tmp_path / "a", 2.0, 7, [6.0], "started")
    return tmp_path


def test_they_are_listed_in_the_order_of_their_beginning(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("runs", ["list", str(runs), "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [(Path(row["run"]).name, row["state"], row["best"]["value"], row["step"]) for row in rows] == [
        ("b", "finished", 5.0, 30),
        ("a", "interrupted", 6.0, 10),
    ]
    run("runs", ["list", str(runs)])
    assert PRESET in capsys.readouterr().out


def _write_sweep(folder: Path, objectives: list[float | None]) -> None:
    SweepFolder(locate(str(folder))).claim(sweep_record(started=3.0), preset(PRESET))
    table = TrialTable(locate(str(folder)))
    for number, objective in enumerate(objectives):
        table.put(number, {"seed": number}, state="failed" if objective is None else "stopped", objective=objective)


def test_sweeps_are_listed_after_runs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_sweep(runs / "c", [40.0, None])
    run("runs", ["list", str(runs), "--json"])
    *_, sweep = json.loads(capsys.readouterr().out)
    assert (Path(sweep["sweep"]).name, sweep["space"], sweep["state"]) == ("c", PRESET, "interrupted")
    assert sweep["trials"] == {"asked": 3, "ended": 1, "failed": 1}
    assert sweep["best"]["value"] == 40.0
    (runs / "c" / "best_trials.json").write_text("[]")
    (runs / "c" / "config.json").write_text('{"of": "another version"}')
    run("runs", ["list", str(runs)])
    shown = capsys.readouterr().out
    assert "1 of 3, 1 failed" in shown
    assert shown.count("finished") == 2


def test_a_run_whose_folder_is_held_is_running(runs: Path) -> None:
    with Lease.take(locate(str(runs / "a"))):
        assert runs_in(str(runs))[1]["state"] == "running"
