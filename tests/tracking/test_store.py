"""Stores that cannot be used: one line that says why and what to do, soon; several commands that begin one at once."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.doctor import store_finding
from vtr_core.tracking.run import open_run
from vtr_core.tracking.store import default_tracking_uri, open_client, sqlite_file, store_fault


def damage(file: Path) -> None:
    file.write_bytes(b"no database" * 1000)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def set_schema(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.execute("UPDATE alembic_version SET version_num = 'ffffffffffff'")


def break_off(file: Path) -> None:
    """What a command leaves that is killed while MLflow makes its tables: some, and the number of an earlier step."""
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE webhooks")
        database.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")


@pytest.mark.parametrize(
    ("spoil", "remedy"),
    [
        (damage, "the file is damaged: move it away"),
        (cut, "move it away"),
        (set_schema, "of another release of MLflow"),
        (break_off, "its tables are incomplete: move it away"),
    ],
)
def test_a_file_that_cannot_be_used_costs_the_log_alone(
    spoil: Callable[[Path], None],
    remedy: str,
    tracking_store: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = sqlite_file(tracking_store)
    assert file is not None
    spoil(file)
    assert open_run(tracking_store, "vtr", "name", {}) is None
    (said,) = [record.getMessage() for record in caplog.records if record.name.startswith("vtr_core")]
    assert remedy in said
    assert "or set MLFLOW_TRACKING_URI to another store" in said
    assert len(said.splitlines()) == 1
    assert "[SQL" not in said
    assert "Traceback" not in "".join(capfd.readouterr())
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking_store)
    finding = store_finding()
    assert finding.state == "broken"
    assert remedy in finding.what


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to a user who may write everywhere: below a file there can be no folder."""
    (tmp_path / "file").touch()
    assert open_run(f"sqlite:///{tmp_path}/file/mlflow.db", "vtr", "name", {}) is None
    fault = store_fault(f"sqlite:///{tmp_path}/file/mlflow.db")
    assert fault == f"there is no folder {tmp_path}/file for it"
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    assert store_fault(f"sqlite:///{tmp_path}/mlflow.db") == f"the folder {tmp_path} cannot be written"


@pytest.mark.parametrize("uri", ["postgresql://127.0.0.1:9/runs", "mysql+pymysql://u:hidden@127.0.0.1:9/runs"])
def test_a_database_that_refuses_is_asked_once(uri: str, caplog: pytest.LogCaptureFixture) -> None:
    assert open_run(uri, "vtr", "name", {}) is None
    assert "cannot be used" in caplog.text
    assert "hidden" not in caplog.text


def test_a_new_file_waits_for_the_process_that_makes_its_tables(tmp_path: Path, empty_tracking_store: Path) -> None:
    """It then finds them, and makes none itself."""
    file, uri = tmp_path / "mlflow.db", f"sqlite:///{tmp_path}/mlflow.db"
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        second = threading.Thread(target=open_client, args=(uri,))
        second.start()
        with sqlite3.connect(empty_tracking_store) as made:
            for line in made.iterdump():
                if line not in ("BEGIN TRANSACTION;", "COMMIT;"):
                    other.execute(line)
        other.execute("COMMIT")
    second.join()
    assert open_run(uri, "vtr", "name", {}) is not None


@pytest.mark.long
def test_several_commands_begin_a_store_at_once(tmp_path: Path) -> None:
    script = "from vtr_core.tracking.run import open_run; from vtr_core.tracking.store import default_tracking_uri\n"
    script += "run = open_run(default_tracking_uri(), 'vtr', 'name', {}); print(run.run_id)"
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    running = [
        subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    ids = {process.communicate()[0].decode().strip() for process in running}
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    experiment = client.get_experiment_by_name("vtr")
    assert experiment is not None
    assert {run.info.run_id for run in client.search_runs([experiment.experiment_id])} == ids
    assert len(ids) == 3


@pytest.mark.parametrize("name", ["what? films", "films%20HD", "josé", "100 % [HD] #1"])
def test_a_folder_of_any_name_holds_its_store(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    run = open_run(default_tracking_uri(), "vtr", "name", {})
    assert run is not None
    run.log_json("values.json", {"one": 1})
    assert (tmp_path / name / "mlflow.db").is_file()
    assert list((tmp_path / name / "mlartifacts").rglob("values.json"))
    assert [path.name for path in tmp_path.iterdir()] == [name]
