"""Bills of materials of the two images, from the lock: `python -m cluster.sbom FOLDER`, or `make sbom`.

CycloneDX 1.5 as JSON: every Python package of `requirements/` that a Linux image of the Dockerfile installs, with its
version and the hashes of its distributions, one of which was fetched. Debian's packages of the base image are not among
them. Without time or serial number: the same lock gives the same file. Run from the repository.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from packaging.markers import Environment, Marker

LOCKS = Path("requirements")
BOTH = ("core", "postgres", "numba")
CUDA_ONLY = ("torch", "mamba", "mamba-sources")
"""Locks that the image with CUDA adds."""
_LINUX: Mapping[str, str] = MappingProxyType(
    {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "python_version": "3.11",
        "python_full_version": "3.11.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
)
_PIN = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+))?", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Pin:
    """A locked package; hashes: SHA-256 of its distributions, none where another index than the lock's has it."""

    name: str
    version: str
    hashes: tuple[str, ...]

    def component(self) -> dict[str, Any]:
        """As a component of CycloneDX."""
        purl = f"pkg:pypi/{self.name}@{self.version}"
        hashes = [{"alg": "SHA-256", "content": each} for each in self.hashes]
        source = [{"type": "distribution", "url": purl, "hashes": hashes}] if hashes else []
        found = {"type": "library", "bom-ref": purl, "name": self.name, "version": self.version, "purl": purl}
        return {**found, **({"externalReferences": source} if source else {})}


def main(argv: Sequence[str]) -> None:
    """Write sbom-cpu.json and sbom-cuda.json into the folder."""
    folder = Path(argv[0])
    folder.mkdir(parents=True, exist_ok=True)
    for image in ("cpu", "cuda"):
        pins = image_pins(LOCKS, cuda=image == "cuda")
        text = json.dumps(bill(f"vtr:{image}", package_version(Path("pyproject.toml")), pins), indent=1)
        (folder / f"sbom-{image}.json").write_text(text + "\n")
        sys.stdout.write(f"{folder}/sbom-{image}.json: {len(pins)} packages\n")


def image_pins(locks: Path, cuda: bool) -> list[Pin]:
    """What an image installs, by name; torch without CUDA comes from an index that the hashes are not of."""
    found = {
        pin.name: pin for name in (*BOTH, *(CUDA_ONLY if cuda else ())) for pin in read_lock(locks / f"{name}.txt")
    }
    if not cuda:
        torch = next(pin for pin in read_lock(locks / "torch.txt") if pin.name == "torch")
        found["torch"] = Pin("torch", torch.version, ())
    return [found[name] for name in sorted(found)]


def read_lock(file: Path) -> Iterator[Pin]:
    """The packages of a lock that Linux with CPython 3.11 on x86-64 takes."""
    text = file.read_text()
    matches = list(_PIN.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=True):
        marker = match["marker"]
        if marker is None or Marker(marker).evaluate(Environment(**_LINUX)):  # type: ignore[typeddict-item]
            yield Pin(match["name"], match["version"], tuple(_HASH.findall(text, match.end(), end)))


def bill(image: str, version: str, pins: Sequence[Pin]) -> dict[str, Any]:
    """The bill of materials of an image."""
    about = {"type": "container", "bom-ref": image, "name": image, "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": about},
        "components": [pin.component() for pin in pins],
        "dependencies": [{"ref": image, "dependsOn": [f"pkg:pypi/{pin.name}@{pin.version}" for pin in pins]}],
    }


def package_version(project: Path) -> str:
    """The version of this package."""
    table = tomllib.loads(project.read_text())
    return str(table["project"].get("version", "0"))


if __name__ == "__main__":
    main(sys.argv[1:])
