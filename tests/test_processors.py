"""num_usable: what the system allows, or what the machine has where the system does not tell, as macOS."""

import os

import pytest

from vtr_core.process_limits import num_usable


def test_what_the_system_allows_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert num_usable() == 3


@pytest.mark.parametrize(("cores", "usable"), [(8, 8), (None, 1)])
def test_elsewhere_the_machine_counts(monkeypatch: pytest.MonkeyPatch, cores: int | None, usable: int) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert num_usable() == usable
