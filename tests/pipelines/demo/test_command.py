"""What the demonstration leaves and says at its end."""

import os
import sys
from pathlib import Path

import pytest

from pipelines.demo import command as demo
from pipelines.demo.flags import DemoFlags
from pipelines.demo.learning_curve import FOUND, LOSS, learning_curve
from tests.distribution.project import ROOT
from vtr_core.tracking.run import TrackedRun, open_run
from vtr_core.tracking.run_page import run_page


def test_the_curve_holds_every_point_and_chance() -> None:
    points = [{"step": 10, LOSS: 3.0}, {"step": 20, LOSS: 2.0}, {"step": 20, FOUND: 30.0}, {"step": 30, "skipped": 1}]
    left, right = learning_curve(points, chance=2.0).axes
    assert left.lines[0].get_xydata().tolist() == [[10, 3], [20, 2]]
    assert right.lines[0].get_xydata().tolist() == [[20, 30]]
    assert set(right.lines[1].get_ydata()) == {2.0}


def test_a_curve_without_validation_is_empty() -> None:
    _, right = learning_curve([{"step": 10, LOSS: 3.0}], chance=2.0).axes
    assert [line.get_label() for line in right.lines] == ["chance"]


def test_the_page_of_a_run(own_tracking_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At `mlflow ui` on this machine for a database, at the server itself where there is one, without its password."""
    run = open_run(own_tracking_store, "demo", "a run", {})
    assert run is not None
    experiment = run.client.get_run(run.run_id).info.experiment_id
    assert run_page(run) == f"http://127.0.0.1:5000/#/experiments/{experiment}/runs/{run.run_id}"
    client = run.client
    monkeypatch.setattr(TrackedRun, "client", client)
    served = run_page(TrackedRun("https://user:hidden@tracking.example/", "demo", run.run_id))
    assert served.endswith(f"tracking.example/#/experiments/{experiment}/runs/{run.run_id}")
    assert "hidden" not in served


def test_how_vtr_becomes_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", f"{os.getcwd()}/.venv")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert demo._activation().splitlines()[0] == ". .venv/bin/activate"
    monkeypatch.setenv("VIRTUAL_ENV", f"{os.getcwd()}/.venv")
    assert demo._activation() == ""


@pytest.mark.integration
def test_the_demonstration(
    tmp_path: Path, local_ray: None, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.demo(DemoFlags(clips=300, workers=0, data=str(tmp_path / "data"), out=str(tmp_path / "run")))
    said = capsys.readouterr().out
    for word in ("text → video", "chance", f"mlflow ui --backend-store-uri {own_tracking_store}", "your own data"):
        assert word in said
    assert (tmp_path / "run" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    readme = (ROOT / "README.md").read_text()
    assert all(f"vtr {command} " in said and f"vtr {command} " in readme for command in ("ingest", "train", "evaluate"))
