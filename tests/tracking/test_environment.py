"""What a run says of its code, packages and machine, and how its page shows that."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pynvml
import pytest

from vtr_core.tracking.environment import environment, git_tags, provenance
from vtr_core.tracking.run import code, markdown_table, page_tags


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VTR_GIT_COMMIT", "VTR_GIT_BRANCH", "RAY_JOB_CONFIG_JSON_ENV_VAR"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@x"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_packages_and_machine_are_named() -> None:
    found = environment({"CPU": 4.0, "accelerator_type:H100": 8.0})
    assert found["packages"]["numpy"] == np.__version__
    assert found["cluster"] == {"CPU": 4.0, "accelerator_type:H100": 8.0}
    assert found["cpus"] >= 1
    assert found["memory_gb"] > 0
    assert json.loads(json.dumps(found)) == found


def test_gpus_are_those_that_nvml_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Memory:
        total = 80_000_000_000

    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlSystemGetDriverVersion", lambda: "570.1")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: 2)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", lambda index: index)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetName", lambda handle: "H100")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", lambda handle: Memory())
    assert environment()["gpus"] == [{"name": "H100", "memory_gb": 80.0, "driver": "570.1"}] * 2


def test_a_branch_may_have_any_name(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "m")
    git(tmp_path, "branch", "-m", "jos\udce9")
    assert git_tags(str(tmp_path))["git.branch"] == "jos\N{REPLACEMENT CHARACTER}"


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


def test_versions_are_left_to_the_environment_and_pages_get_their_columns() -> None:
    origin = {"git.commit": "abc", "git.branch": "main", "version.torch": "2", "machine": "x", "version.vtr": "1"}
    tags = page_tags(origin, "vtr train", "what it is")
    assert {name for name in tags if name.startswith("version.")} == set()
    assert "machine" not in tags
    assert (tags["git.commit"], tags["mlflow.source.git.commit"]) == ("abc", "abc")
    assert tags["mlflow.source.type"] == "LOCAL"
    assert (tags["mlflow.source.name"], tags["mlflow.note.content"]) == ("vtr train", "what it is")


def test_code_cannot_be_left() -> None:
    assert code("a `b`\n# c") == "`a b # c`"


def test_a_cell_cannot_be_left_either() -> None:
    assert markdown_table(["trial", "r1"], [["a|b", "0.5"]]) == "| trial | r1 |\n| --- | ---: |\n| a&#124;b | 0.5 |\n"
