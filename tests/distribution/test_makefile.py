"""What make's targets would run, by make itself; and that the files for a forge run targets that there are."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.distribution.project import ROOT

OWN = {"PATH": os.environ["PATH"]}
"""Nothing of the make that runs the tests."""


def _would_run(*words: str) -> list[str]:
    command = ["make", "--dry-run", "--always-make", *words]
    done = subprocess.run(command, cwd=ROOT, env=OWN, capture_output=True, text=True, check=True)
    return done.stdout.replace("\\\n", " ").splitlines()


def _pip(lines: list[str]) -> list[str]:
    return [line.split("bin/pip ", 1)[1] for line in lines if "bin/pip " in line]


def test_the_demo_installs_the_package_alone() -> None:
    lines = _would_run("demo")
    assert _pip(lines) == ["install --constraint constraints.txt --editable '.'"]
    assert lines[-1].endswith("vtr demo")


@pytest.mark.parametrize("target", ["test", "test-all", "types", "package"])
def test_tests_and_checks_add_what_they_need(target: str) -> None:
    for words, extras in (((), "dev"), (("EXTRAS=clip",), "dev,clip"), (("EXTRAS=faiss,dev",), "faiss,dev")):
        assert _pip(_would_run(target, *words)) == [f"install --constraint constraints.txt --editable '.[{extras}]'"]


def test_the_check_of_everything_builds_the_site() -> None:
    lines = _would_run("check")
    assert _pip(lines)[-1] == "install --constraint constraints.txt --editable '.[dev,docs]'"
    assert any(line.endswith("mkdocs build --quiet") for line in lines)


def test_a_locked_set_up_takes_nothing_without_a_hash() -> None:
    first, second, third = _pip(_would_run("install", "LOCKED=1", "EXTRAS=postgres,numba"))
    files = [f"--requirement requirements/{name}.txt" for name in ("core", "torch", "postgres", "numba")]
    assert first == " ".join(["install --no-deps --require-hashes", *files])
    assert second == "install --no-deps --no-build-isolation --editable ."
    assert third == "check"


def test_torch_without_cuda_comes_first_and_alone() -> None:
    first, second, *_ = _pip(_would_run("install", "LOCKED=1", "TORCH=cpu"))
    index = "https://download.pytorch.org/whl/cpu"
    assert first == f"install --no-deps --index-url {index} --constraint constraints.txt torch"
    assert second == "install --no-deps --require-hashes --requirement requirements/core.txt"


def test_another_torch_is_refused() -> None:
    done = subprocess.run(
        ["make", "-n", "demo", "TORCH=gpu"], cwd=ROOT, env=OWN, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "TORCH=gpu is not known; give TORCH=cpu" in done.stderr


WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def _faults(file: Path, schema: str) -> str:
    """What the schema that comes with the package check-jsonschema finds; empty if nothing."""
    validator = Path(sys.executable).parent / "check-jsonschema"
    command = [str(validator), "--builtin-schema", f"vendor.{schema}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_the_workflow_follows_its_schema(tmp_path: Path) -> None:
    assert _faults(WORKFLOW, "github-workflows") == ""
    slip = tmp_path / "ci.yml"
    slip.write_text(WORKFLOW.read_text().replace("runs-on", "run-on"))
    assert "runs-on" in _faults(slip, "github-workflows")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_issue_forms_follow_theirs(form: Path) -> None:
    assert _faults(form, "github-issue-forms") == ""


def test_it_tests_the_pythons_that_the_package_names() -> None:
    names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [match[1] for name in names if (match := re.search(r":: (3\.\d+)$", name))]
    matrix = yaml.safe_load(WORKFLOW.read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == versions
    assert 'make test TORCH=cpu LOCKED=1 PYTHON="python${{ matrix.python }}"' in WORKFLOW.read_text(), (
        "make takes 3.11 by itself"
    )


def test_it_tests_on_macos_what_make_lock_has_looked_for() -> None:
    job = yaml.safe_load(WORKFLOW.read_text())["jobs"]["test-macos"]
    (release,) = re.findall(r"^macos-(\d+)$", job["runs-on"])
    (oldest,) = re.findall(r"MACOSX_DEPLOYMENT_TARGET=(\d+)", (ROOT / "requirements" / "lock.sh").read_text())
    assert int(release) >= int(oldest)
    assert job["steps"][-1]["run"] == "make test TORCH=cpu LOCKED=1 PYTHON=python3.11"


def test_actions_are_named_by_hash_and_packages_have_theirs() -> None:
    text = WORKFLOW.read_text()
    assert re.findall(r"uses: \S+@(?![0-9a-f]{40} # v)\S+", text) == []
    assert all("LOCKED=1" in line for line in text.splitlines() if re.search(r"run: make (check|test)\b", line))
