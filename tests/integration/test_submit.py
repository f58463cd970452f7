"""Jobs on a cluster that `ray start --head` made, and that asks for a token."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from mlflow import MlflowClient

from tests.local_cluster import processes, ray_start
from tests.local_cluster.naming import Names
from tests.local_cluster.ray_start import NodeSpec, Ports
from vtr_core.tracking.environment import git_tags

pytestmark = [pytest.mark.integration, pytest.mark.linux]
REPOSITORY = Path(__file__).parents[2]
TOKEN = "0123456789abcdef0123456789abcdef"
PATIENT = {"RAY_health_check_timeout_ms": "60000", "RAY_health_check_failure_threshold": "20"}
"""Nothing is lost here on purpose, so a slow machine is no reason to give a node up."""
SECRETS = {"AWS_SECRET_ACCESS_KEY": "aws-secret-value", "HF_TOKEN": "hf-secret-value"}
WORLD = ["--num-clips", "600", "--dim-2d", "16", "--dim-3d", "16", "--dim-audio", "8", "--videos-per-shard", "20"]


@dataclass(frozen=True)
class Head:
    """A running head, and what a user's terminal has in its environment."""

    url: str
    environment: Mapping[str, str]
    folder: Path

    def vtr(self, *words: str, **changed: str) -> "subprocess.CompletedProcess[str]":
        """`vtr submit` in a folder that is not the checkout."""
        command = [sys.executable, "-m", "pipelines.cli", "submit", "--working-dir", str(REPOSITORY), *words]
        where = {"env": {**self.environment, **changed}, "cwd": self.folder, "stdin": subprocess.DEVNULL}
        return subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False, **where)


@pytest.fixture(scope="module")
def head(own_tracking_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    names, ports = Names.fresh(), Ports(*ray_start.free_ports(4))
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    names.folder.mkdir()
    command = ray_start.head_command(NodeSpec(cpus=3), names.cluster, "127.0.0.1", ports)
    with (names.folder / "start.log").open("wb") as log:
        settings = {**plain, **ray_start.environment(str(names.folder), namespaces=False), **PATIENT, **token}
        process = subprocess.Popen(command, env=settings, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{ports.dashboard}"
    user = {**plain, **token, **SECRETS, "RAY_API_SERVER_ADDRESS": url, "PYTHONPATH": str(REPOSITORY)}
    try:
        _wait_for(url)
        yield Head(url, user, tmp_path_factory.mktemp("user"))
    finally:
        processes.end(lambda: processes.with_files_in(names.folder) & processes.parents().keys() - {os.getpid()})
        process.kill()
        process.wait()
        shutil.rmtree(names.folder, ignore_errors=True)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 3600
    while True:
        try:
            if requests.get(f"{url}/api/jobs/", headers=authorization(), timeout=30).status_code == 200:
                return
        except requests.RequestException:
            pass
        assert time.monotonic() < deadline, "the head does not take jobs"
        time.sleep(0.5)


def authorization() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.long
def test_a_submitted_ingest(head: Head) -> None:
    ingested = head.vtr(
        "--submission-id", "made", "--", "ingest", "synthetic", "--out", "world", "--workers", "0", *WORLD
    )
    said = ingested.stdout + ingested.stderr
    assert ingested.returncode == 0, said
    assert "job made succeeded" in said
    assert (head.folder / "world" / "train" / "manifest.json").exists()
    job = requests.get(f"{head.url}/api/jobs/made", headers=authorization(), timeout=30).text
    assert not [secret for secret in (TOKEN, *SECRETS.values()) if secret in said or secret in job]
    again = head.vtr("--submission-id", "made", "--", "evaluate", "none", "--data", "world")
    assert again.returncode == 2
    assert "there is a job made on this cluster" in again.stderr


@pytest.mark.long
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_submitted_training(workers: str, head: Head, world: Path, own_tracking_store: str) -> None:
    job_id, experiment_name = f"tiny-{workers}", f"submitted-{workers}"
    settings = ["--training.epochs", "1", "--scaling.workers", workers, "--experiment", experiment_name]
    done = head.vtr("--submission-id", job_id, "--", "train", "capsule-howto-tiny", "--data", str(world), *settings)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for line in (f"job         {job_id} on http://127.0.0.1", "loss", "validation", "checkpoint"):
        assert line in said
    assert f"job {job_id} succeeded" in said
    assert list((head.folder / "runs").glob("capsule-howto-tiny-*/config.json"))
    client = MlflowClient(own_tracking_store)
    experiment = client.get_experiment_by_name(experiment_name)
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.tags["ray.submission_id"] == job_id
    commit = git_tags(str(REPOSITORY)).get("git.commit")
    assert run.data.tags.get("git.commit") == commit
    job = requests.get(f"{head.url}/api/jobs/{job_id}", headers=authorization(), timeout=30).text
    assert "MLFLOW_TRACKING_URI" in job
    for secret in (TOKEN, *SECRETS.values()):
        assert secret not in said
        assert secret not in job
        assert secret not in str(run.to_dictionary())


@pytest.mark.long
def test_a_failed_jobs_exit_code(head: Head) -> None:
    done = head.vtr("--", "evaluate", "none", "--data", "nothing")
    assert done.returncode == 2
    assert "is not a data set" in done.stdout
    assert "failed with exit code 2" in done.stderr


@pytest.mark.long
def test_without_the_token_nothing_is_submitted(head: Head) -> None:
    """A wrong one and none are refused as in tests/pipelines/submit; a file that is lost is Ray's own error."""
    done = head.vtr("--", "evaluate", "c", "--data", "d", RAY_AUTH_TOKEN="", RAY_AUTH_TOKEN_PATH="/none")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "RAY_AUTH_TOKEN_PATH=/none cannot be read" in done.stderr
    assert TOKEN not in done.stderr
