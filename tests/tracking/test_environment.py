"""The environment names what numbers depend on, and a machine without a GPU has an empty list."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pynvml
import pytest

from vtr_core.tracking.environment import environment, git_tags


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
    monkeypatch.setattr(pynvml, "nvmlDeviceGetName", lambda handle: b"H100")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", lambda handle: Memory())
    assert environment()["gpus"] == [{"name": "H100", "memory_gb": 80.0, "driver": "570.1"}] * 2


def test_a_branch_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VTR_GIT_COMMIT", "VTR_GIT_BRANCH"):
        monkeypatch.delenv(name, raising=False)
    for words in (
        ["init", "--quiet"],
        ["commit", "--quiet", "--allow-empty", "--message", "m"],
        ["branch", b"-m", b"jos\xe9"],
    ):
        author = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", "-C", str(tmp_path), *author, *words], check=True)
    assert git_tags(str(tmp_path))["git.branch"] == "jos\N{REPLACEMENT CHARACTER}"
