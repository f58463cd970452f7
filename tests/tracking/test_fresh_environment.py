"""A registered model is loaded and served in an environment that was made of its requirements alone."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import mlflow.pyfunc
import numpy as np
import pytest

from tests.builders.toy import toy_dataset
from tests.tracking.models.test_registry import LOADS, NAME, close, saved, table
from tests.tracking.server import serving
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.models.registry import register_checkpoint
from vtr_core.tracking.run import open_run

pytestmark = [pytest.mark.integration, pytest.mark.long]
MODEL = f"models:/{NAME}@champion"


def asked(server: str, rows: dict[str, object]) -> list[dict[str, list[float] | None]]:
    """The server's answer to a table."""
    request = urllib.request.Request(
        f"{server}/invocations",
        data=json.dumps({"dataframe_split": rows}).encode(),
        headers={"Content-Type": "application/json"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=3600) as answer:
        return list(json.loads(answer.read())["predictions"])


def test_it_is_loaded_and_served_without_this_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    data = toy_dataset(tmp_path / "data")[0]
    run = open_run(uri, "vtr", "a run", {})
    assert run is not None
    register_checkpoint(run, saved(data, tmp_path / "checkpoint", seed=0), NAME, SYSTEMS)
    (tmp_path / "checkpoint").rename(tmp_path / "gone")
    rows = table(data)
    expected = mlflow.pyfunc.load_model(MODEL).predict(rows)
    requirements = mlflow.pyfunc.get_model_dependencies(MODEL)

    elsewhere, fresh = tmp_path / "elsewhere", tmp_path / "fresh" / "bin"
    elsewhere.mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["PATH"] = f"{fresh}{os.pathsep}{os.environ['PATH']}"
    python = str(fresh / "python")
    for words in (
        [sys.executable, "-m", "venv", str(fresh.parent)],
        [python, "-m", "pip", "install", "--quiet", "--requirement", requirements],
    ):
        done = subprocess.run(words, cwd=elsewhere, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    installed = subprocess.check_output([python, "-m", "pip", "list", "--format", "json"], text=True)
    assert not {"vtr", "vtr-ray", "ray"} & {one["name"] for one in json.loads(installed)}

    rows.to_json(tmp_path / "rows.json", orient="split")
    words = [python, "-c", LOADS, MODEL, str(tmp_path / "rows.json"), "out.npz"]
    subprocess.run(words, check=True, cwd=elsewhere, env=environment)
    found = np.load(elsewhere / "out.npz")
    for name in ("text", "video", "audio"):
        close(found[name], np.array([np.zeros(4) if value is None else value for value in expected[name]]))

    words = [str(fresh / "mlflow"), "models", "serve", "--model-uri", MODEL, "--env-manager", "local"]
    with serving(words, environment, "/ping", elsewhere) as server:
        answer = asked(server, json.loads((tmp_path / "rows.json").read_text()))
    assert len(answer) == len(rows)
    for name in ("text", "video", "audio"):
        told = [row[name] for row in answer]
        assert [value is None for value in told] == [value is None for value in expected[name]]
        close(np.array([v for v in told if v is not None]), np.stack([v for v in expected[name] if v is not None]))
