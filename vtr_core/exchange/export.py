"""A trained model as a folder for others: weights, configuration and words of a checkpoint, and a model card.

The folder is a checkpoint without what only training needs, so whatever takes a checkpoint takes it; nothing that it
holds names a place of this machine.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import safetensors.torch

from vtr_core import storage
from vtr_core.errors import ConfigError
from vtr_core.storage import Location
from vtr_core.train.checkpoint.files import CONCEPTS, MARKER, VERSION
from vtr_core.train.checkpoint.reader import CheckpointReader

CARD = "README.md"
_PUBLIC = ("version.", "git.commit", "data.fingerprint", "extraction")
"""Beginnings of the names in a checkpoint's provenance that say nothing of the machine, its paths or its services."""


def public_provenance(found: Mapping[str, Any]) -> dict[str, Any]:
    """What of a checkpoint's provenance may be published."""
    return {name: value for name, value in found.items() if name.startswith(_PUBLIC)}


def export_model(checkpoint: Location, folder: Location, card: str) -> None:
    """Write the model of `checkpoint` and its `card` to the new `folder`, the list of files last.

    Raises ConfigError where the folder holds anything, CheckpointError where the checkpoint is damaged.
    """
    if storage.exists(folder) and next(storage.children(folder), None) is not None:
        raise ConfigError(f"{folder} is not empty; export to a new folder")
    reader = CheckpointReader(checkpoint)
    kept = ["config.json", "vocabulary.json", "progress.json"]
    files = {name: reader.read(name) for name in (kept if reader.concepts() is None else [*kept, CONCEPTS])}
    files["model.safetensors"] = safetensors.torch.save(reader.weights(), metadata={"format": "pt"})
    files["provenance.json"] = _json(public_provenance(reader.provenance()))
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    marker = _json({"version": VERSION, "files": hashes})
    for name, content in {**files, CARD: card.encode(), MARKER: marker}.items():
        storage.write_bytes(folder / name, content)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
