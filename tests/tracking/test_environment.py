"""The environment names what numbers depend on, and a machine without a GPU has an empty list."""

import json

import numpy as np
import pynvml
import pytest

from vtr_core.tracking.environment import environment


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
