"""Checkpoints: a folder that is complete once `checkpoint.json`, written last, lists its files with their hashes.

`config.json`, `model.safetensors`, `optimizer.pt`, `progress.json`, `vocabulary.json`, `provenance.json`, and
`concepts.json` of a model with a concept space. Nothing in it is unpickled: tensors are safetensors or read with
`weights_only=True`. `model.safetensors` has the weights that are evaluated; `optimizer.pt` has everything else that is
needed to resume training.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vtr_core import storage
from vtr_core.errors import CheckpointError
from vtr_core.run.config import TrainConfig
from vtr_core.storage import Location, StorageError, is_file_name
from vtr_core.storage.hashing import HashingSink, Sink
from vtr_core.text.concepts.names import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.tensor_file import write_tensors

MARKER = "checkpoint.json"
CONCEPTS = "concepts.json"
VERSION = 2

Content = Callable[[Sink], None]
"""Writes a file's content to a binary sink."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run: optimiser steps, and the history of validations."""

    step: int = 0
    best_value: float | None = None
    best_step: int | None = None
    value: float | None = None
    """Validation metric at this step, where there was a validation."""
    flat_validations: int = 0
    """Validations since the best one."""
    flat_at_rate: int = 0
    """Validations since the best one or since the last plateau."""
    rate_age: int = 0
    """Validations since the last plateau, or since the beginning."""
    plateaus: int = 0
    """How often the rate was lowered by optimizer.plateau_decay."""
    skipped: int = 0
    """Steps skipped for a non-finite loss."""
    replaced_rows: int = 0
    """Rows that replaced rows of unreadable row groups."""


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint in memory."""

    config: TrainConfig
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    progress: Progress
    vocabulary: Vocabulary
    provenance: dict[str, Any] = field(default_factory=dict)
    objective: dict[str, Tensor] = field(default_factory=dict)
    """The loss's own parameters, for instance a learnt temperature."""
    trained: dict[str, Tensor] | None = None
    """The weights that training goes on with, where `model` is their moving average."""
    concepts: ConceptNames | None = None
    """The concepts of a model with a concept space."""

    @classmethod
    def imported(
        cls,
        project: str,
        config: TrainConfig,
        weights: dict[str, Tensor],
        vocabulary: Vocabulary,
        concepts: ConceptNames | None = None,
    ) -> "Checkpoint":
        """The weights of another project, which were not trained here."""
        return cls(config, weights, {}, Progress(), vocabulary, {"imported": project}, concepts=concepts)


def save_checkpoint(location: Location, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a reader sees all of it or none.

    Raises StorageError, with the space needed and the space free, where it cannot be written; what was written of it is
    then deleted, as far as the storage allows.
    """
    remove_checkpoint(location)
    try:
        hashes = {name: _write(location / name, content) for name, content in _files(checkpoint).items()}
        storage.write_bytes(location / MARKER, _json({"version": VERSION, "files": hashes}))
    except (OSError, StorageError) as error:
        with suppress(OSError, StorageError):
            remove_checkpoint(location)
        needed = _size(_tensor_bytes([checkpoint.model, *_training(checkpoint).values()]))
        raise StorageError(f"{location} cannot be written: {error} (it needs {needed}{_free(location)})") from error


def remove_checkpoint(location: Location) -> None:
    """Delete a checkpoint, complete or not; if interrupted, what remains does not count as a checkpoint."""
    storage.delete_file(location / MARKER)
    storage.delete_folder(location)


def _free(location: Location) -> str:
    if not location.is_local:
        return ""
    place = next(path for path in Path(location.path).parents if path.exists())
    return f", {_size(shutil.disk_usage(place).free)} are free"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def _tensor_bytes(value: Any) -> int:
    match value:
        case Tensor():
            return value.nbytes
        case dict():
            return sum(map(_tensor_bytes, value.values()))
        case list():
            return sum(map(_tensor_bytes, value))
        case _:
            return 0


def _write(place: Location, content: Content) -> str:
    """Write a file piece by piece; returns its SHA-256. OSError or StorageError where that fails."""
    with storage.open_for_writing(place) as sink:
        hashing = HashingSink(sink)
        try:
            content(hashing)
        except RuntimeError as error:  # torch.save's, as it ends its archive after a failed write
            raise (hashing.fault or error) from error
        return hashing.digest.hexdigest()


def _training(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"optimizer": checkpoint.optimizer, "objective": checkpoint.objective, "trained": checkpoint.trained}


def _files(checkpoint: Checkpoint) -> dict[str, Content]:
    """The files of a checkpoint but the marker; tensors are written from their own memory, without a copy of all."""
    small = {
        "config.json": _json(checkpoint.config.model_dump(mode="json")),
        "progress.json": _json(asdict(checkpoint.progress)),
        "vocabulary.json": checkpoint.vocabulary.to_json(),
        "provenance.json": _json(checkpoint.provenance),
    }
    if checkpoint.concepts is not None:
        small[CONCEPTS] = checkpoint.concepts.to_json()
    return {
        **{name: partial(_put, content) for name, content in small.items()},
        "model.safetensors": partial(write_tensors, checkpoint.model),
        "optimizer.pt": partial(torch.save, _training(checkpoint)),
    }


def _put(content: bytes, sink: Sink) -> None:
    sink.write(content)


def is_complete(location: Location) -> bool:
    """Whether a checkpoint was written completely."""
    return storage.exists(location / MARKER)


def find_checkpoint(location: Location) -> Location:
    """The folder itself where it is a checkpoint's; a run folder's best checkpoint, else its newest."""
    if is_complete(location):
        return location
    folder = location / "checkpoints"
    if storage.exists(folder / "best.json"):
        return folder / _best_name(folder / "best.json")
    complete = complete_checkpoints(folder)
    if not complete:
        raise CheckpointError(
            f"{location} is not a checkpoint: it has no {MARKER}; give the folder of a run of vtr train, "
            "or one of the folders in its checkpoints/"
        )
    return complete[-1]


def _best_name(location: Location) -> str:
    """The folder that `best.json` names."""
    value = storage.read_json(location)
    name = value.get("checkpoint") if isinstance(value, dict) else None
    if not isinstance(name, str) or not is_file_name(name):
        raise CheckpointError(f"{location} is damaged: it must name a folder beside it; give that folder itself")
    return name


def complete_checkpoints(folder: Location) -> list[Location]:
    """The complete checkpoints in a run's `checkpoints/`, oldest first."""
    return [child for child in storage.children(folder) if child.name.startswith("step-") and is_complete(child)]


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
