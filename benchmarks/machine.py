"""The machine and the versions that a result was measured with."""

import platform
from importlib.metadata import version
from pathlib import Path

from vtr_core.limits import num_usable


def processor() -> str:
    """Architecture, usable cores and the processor's name."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{platform.machine()}, {num_usable()} cores, {model}"


def versions(*packages: str) -> dict[str, str]:
    """The versions of `packages` and of Python."""
    return {name: version(name) for name in packages} | {"python": platform.python_version()}
