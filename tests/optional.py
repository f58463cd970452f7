"""Packages that not every installation has."""

from typing import Any

import pytest


def optional(module: str, extra: str) -> Any:
    """The module; the test is skipped where it is not installed, with the extra that brings it."""
    command = f"pip install --constraint constraints.txt '.[{extra}]'"
    return pytest.importorskip(module, reason=f"{module} is not installed: {command}")
