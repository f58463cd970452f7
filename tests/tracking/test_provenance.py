"""Tags of a run: the commit of the code, and the job that it runs in."""

import json
import subprocess
from pathlib import Path

import pytest

from vtr_core.tracking.environment import git_tags, provenance


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VTR_GIT_COMMIT", "VTR_GIT_BRANCH", "RAY_JOB_CONFIG_JSON_ENV_VAR"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@x"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_of_a_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "trunk")
    (tmp_path / "code.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert git_tags(str(tmp_path)) == {"git.commit": commit, "git.branch": "trunk"}
    (tmp_path / "code.py").write_text("2")
    assert git_tags(str(tmp_path))["git.commit"] == f"{commit}-dirty"


def test_whoever_submits_a_job_knows_the_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VTR_GIT_COMMIT", "abc")
    monkeypatch.setenv("VTR_GIT_BRANCH", "side")
    assert git_tags(str(tmp_path)) == {"git.commit": "abc", "git.branch": "side"}


def test_the_submission_id_alone_is_taken_from_the_jobs_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ray.submission_id" not in provenance()
    told = {
        "runtime_env": {"env_vars": {"AWS_SECRET_ACCESS_KEY": "aws-secret"}},
        "metadata": {"job_submission_id": "train-1", "job_name": "train-1", "note": "more-secret"},
    }
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps(told))
    assert provenance()["ray.submission_id"] == "train-1"
    assert provenance()["ray.submission_id"] == "train-1"
    assert "secret" not in str(provenance())
