"""Weights & Biases without a network, and TensorBoard's own reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.optional import optional


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package wandb, which asks for no account and writes below the test's folder."""
    wandb = optional("wandb", "wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    return wandb


@pytest.fixture
def event_files() -> Callable[[Path], Any]:
    """Reads the event files of a folder."""
    reading = optional("tensorboard.backend.event_processing.event_accumulator", "tensorboard")

    def read(folder: Path) -> Any:
        found = reading.EventAccumulator(str(folder), size_guidance={"scalars": 0})
        found.Reload()
        return found

    return read
