"""Fuzzing writes many small files that need not survive a power cut."""

import os

import pytest


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
