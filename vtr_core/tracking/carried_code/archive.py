"""The modules of vtr_core as one zip archive that Python can import from, and the module that loads a model with it.

One archive, because a model's files are uploaded to a server one by one. It is made from the package as imported now,
so a checkout, an editable installation and a wheel give the same archive; it contains only modules, no data and no
bytecode.
"""

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import vtr_core
from vtr_core.fingerprint import short

_PACKAGE = "vtr_core"
_LOADER = "tracking/carried_code/loader.py"
_BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time in a zip archive, given to all files so that equal code makes an equal archive."""


@dataclass(frozen=True)
class CarriedCode:
    """The code in a model's `code/`."""

    version: str
    """The package's."""
    fingerprint: str
    """sha256 of the modules' names and contents."""
    loader: Path
    """The module with `_load_pyfunc`; its name holds the fingerprint, so that each model is loaded by its own."""
    archive: Path

    @property
    def loader_module(self) -> str:
        """The name by which MLflow imports the loader."""
        return self.loader.stem


def write_code(folder: Path) -> CarriedCode:
    """Put the loader and the archive into the new `folder`."""
    folder.mkdir()
    modules = dict(_modules(resources.files(_PACKAGE), ""))
    found = hashlib.sha256(b"".join(_digest(name, content) for name, content in sorted(modules.items()))).hexdigest()
    loader = folder / f"vtr_model_{short(found)}.py"
    loader.write_bytes(modules[_LOADER])
    archive = loader.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in sorted(modules.items()):
            written.writestr(zipfile.ZipInfo(f"{_PACKAGE}/{name}", _BEGINNING_OF_TIME), content, zipfile.ZIP_DEFLATED)
        written.comment = vtr_core.__version__.encode()
    return CarriedCode(vtr_core.__version__, found, loader, archive)


def _modules(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    """The modules below `folder` by their paths in the package."""
    for child in folder.iterdir():
        if child.is_dir():
            yield from _modules(child, f"{path}{child.name}/")
        elif child.name.endswith(".py"):
            yield f"{path}{child.name}", child.read_bytes()


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest()
