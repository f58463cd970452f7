"""Files for a public forge: their schemas, and that a workflow runs targets and versions which the project has."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.distribution.project import ROOT

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


def test_its_targets_are_in_the_makefile() -> None:
    targets = re.findall(r"run: make (\S+)", WORKFLOW.read_text())
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["check", "test", "test"]
    assert all(re.search(rf"(?m)^{target}:", makefile) for target in targets)


def test_it_tests_the_pythons_that_the_package_names() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [match[1] for name in named if (match := re.search(r":: (3\.\d+)$", name))]
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
