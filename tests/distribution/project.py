"""What pyproject.toml, constraints.txt and requirements/ say."""

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
_PIN = re.compile(r"(?m)^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?P<rest>(?:.*\\\n)*.*)$")


def direct(extra: str | None = None) -> list[Requirement]:
    """The requirements of the package, or of one of its extras."""
    return [Requirement(line) for line in (PROJECT["dependencies"] if extra is None else EXTRAS[extra])]


def names(requirements: list[Requirement]) -> set[str]:
    """Their names as indexes compare them."""
    return {canonicalize_name(each.name) for each in requirements}


def pins(file: Path) -> dict[str, tuple[str, int]]:
    """Version and number of hashes of every package in a file."""
    return {
        canonicalize_name(pin["name"]): (pin["version"], pin["rest"].count("--hash=sha256:"))
        for pin in _PIN.finditer(file.read_text())
    }
