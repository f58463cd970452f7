"""Keys, passwords and tokens of the environment reach no file, tag, parameter, event or line of output."""

import dataclasses
import json
import logging
import os
import sys
from pathlib import Path

import pytest

import pipelines.ray_session
from pipelines.cli import main
from tests.builders.toy import toy_dataset
from tests.fuzz.test_checkpoints import CONFIG, write
from vtr_core.errors import VtrError
from vtr_core.ray_private import read_token_settings
from vtr_core.redaction import redact
from vtr_core.storage import locate
from vtr_core.tracking.environment import provenance
from vtr_core.tracking.run import _warn_once, open_run
from vtr_core.tracking.run_log import EventLog, MetricLog
from vtr_core.tracking.store import default_tracking_uri
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.tracked import tracked_run

SECRET = "s3cr3tXq7"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": f"AKIA{SECRET}",
    "AWS_SECRET_ACCESS_KEY": f"key-{SECRET}",
    "AWS_SESSION_TOKEN": f"session-{SECRET}",
    "MLFLOW_TRACKING_PASSWORD": f"password-{SECRET}",
    "MLFLOW_TRACKING_TOKEN": f"token-{SECRET}",
    "MLFLOW_TRACKING_USERNAME": "someone",
    "HF_TOKEN": f"hf-{SECRET}",
    "RAY_AUTH_TOKEN": f"ray-{SECRET}",
}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def leaks(folder: Path) -> list[str]:
    """The files below `folder` that hold the secret, as text or within a database."""
    return [str(file) for file in folder.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


@pytest.mark.usefixtures("secrets")
def test_a_run_writes_no_secret(
    tmp_path: Path,
    tracking_store: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a run writes of itself: configuration, record, provenance, checkpoint, events, metrics, MLflow's store."""
    caplog.set_level(logging.DEBUG)
    (manifest,) = toy_dataset(tmp_path / "data")
    folder = RunFolder.at(str(tmp_path / "run"))
    record = RunRecord(str(tmp_path / "data"), None, manifest.fingerprint, redact(tracking_store), "vtr")
    folder.claim(record, CONFIG)
    events = EventLog(folder.location / "events.jsonl")
    with tracked_run(folder, record, CONFIG, provenance(), tracking_store) as tracking:
        assert tracking.for_workers is not None
        events.add("started", step=0, workers=1)
        log = MetricLog(folder.location / "metrics.jsonl", tracking.for_workers)
        log.add({"train/loss": 0.5}, 1)
        log.close()
        write(tmp_path / "run" / "checkpoints" / "step-00000007")
    assert not leaks(tmp_path)
    assert SECRET not in "".join(capsys.readouterr()) + caplog.text


def test_uris_with_passwords_are_logged_without_them(tmp_path: Path, tracking_store: str) -> None:
    (manifest,) = toy_dataset(tmp_path / "data")
    tracked = open_run(tracking_store, "vtr", "name", {"place": f"https://user:{SECRET}@host/tag"})
    assert tracked is not None
    tracked.log_params({"data": f"https://user:{SECRET}@host/data", "words": f"postgresql://u:{SECRET}@h/db"})
    tracked.set_tags({"run.folder": f"https://{SECRET}@host/run?token={SECRET}"})
    tracked.log_input(dataclasses.replace(manifest, uri=f"https://user:{SECRET}@host/data"), "training")
    tracked.log_checkpoint("name", f"https://user:{SECRET}@host/checkpoint", [], 7)
    tracked.finish("FINISHED")
    assert not leaks(tmp_path)
    assert SECRET not in repr(dataclasses.replace(tracked, tracking_uri=f"postgresql://u:{SECRET}@h/db"))


@pytest.mark.usefixtures("secrets")
def test_provenance_holds_no_secret() -> None:
    assert SECRET not in json.dumps(provenance())


URIS = (
    f"postgresql://user:{SECRET}@host:5432/db",
    f"https://user:{SECRET}@host/mlflow",
    f"https://{SECRET}@host/mlflow",
    f"mysql+pymysql://u:{SECRET}@host/db?ssl=true",
    f"https://host/mlflow?access_token={SECRET}",
    f"https://host/x?X-Amz-Signature={SECRET}&y=1",
    f"https://{SECRET}:@host/mlflow",
    f"https://host/mlflow#access_token={SECRET}",
    f"https://host/mlflow?sig={SECRET}",
    f"https://host/mlflow?secret_key={SECRET}",
    f"https://host/mlflow?key={SECRET}",
)


@pytest.mark.parametrize("uri", URIS)
def test_uris_are_shown_without_secrets(uri: str) -> None:
    assert SECRET not in redact(uri)
    assert "host" in redact(uri)


@pytest.mark.parametrize("uri", URIS)
def test_a_store_that_cannot_be_reached_is_named_without_its_password(
    uri: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("vtr_core.tracking.run.open_client", _unreachable)
    _warn_once.cache_clear()  # two of them are shown alike
    assert open_run(uri, "vtr", "name", {}) is None
    assert SECRET not in caplog.text
    assert "cannot be" in caplog.text


def _unreachable(uri: str) -> None:
    raise OSError(f"cannot connect to {uri}")


@pytest.mark.parametrize(
    "uri",
    [
        f"s3://AKIA:{SECRET}@bucket/data",
        f"s3://bucket/data?secret_key={SECRET}",
        f"s3://bucket/data?access_key=AKIA&secret_key={SECRET}",
        f"s3://bucket/data?session_token={SECRET}",
        f"gs://user:{SECRET}@bucket/data",
        f"gs://bucket/data?access_token={SECRET}",
    ],
)
def test_object_stores_take_no_credentials_in_uris(
    uri: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """URIs are shown in messages and kept in manifests, so they may not hold keys."""
    with pytest.raises(VtrError) as caught:
        locate(uri)
    assert SECRET not in str(caught.value)
    monkeypatch.setattr(sys, "argv", ["vtr", "train", "capsule-howto-tiny", "--data", uri])
    with pytest.raises(SystemExit):
        main()
    assert SECRET not in "".join(capsys.readouterr())


def test_the_default_store_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert default_tracking_uri().startswith("sqlite:///")


def test_ray_starts_without_dashboard_and_with_a_token_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its servers listen on all addresses of the machine, so they must not take orders from others."""
    asked = _connect(monkeypatch)
    assert asked["include_dashboard"] is False
    assert asked["mode"] == "token"
    assert len(asked["token"]) == 64
    assert _connect(monkeypatch)["token"] != asked["token"]


@pytest.mark.parametrize(("name", "value"), [("RAY_ADDRESS", "10.0.0.1:6379"), ("RAY_AUTH_MODE", "disabled")])
def test_what_the_user_set_for_ray_stays(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _connect(monkeypatch, **{name: value})
    assert asked["token"] is None
    assert asked["mode"] == ("disabled" if name == "RAY_AUTH_MODE" else None)


def _connect(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, object]:
    """What `ray.init` would be called with, and under which settings; nothing is started."""
    asked: dict[str, object] = {}

    def init(**given: object) -> None:
        asked.update(given, mode=os.environ.get("RAY_AUTH_MODE"), token=os.environ.get("RAY_AUTH_TOKEN"))

    with monkeypatch.context() as patch:
        for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
            patch.setenv(name, "x")  # so that it is put back, whatever is done to it
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr("ray.is_initialized", lambda: False)
        patch.setattr("ray.init", init)
        patch.setattr("pipelines.ray_session.ray_private.head_fault", lambda _: None)  # of RAY_ADDRESS: it is there
        pipelines.ray_session.connect()
    read_token_settings()
    return asked
