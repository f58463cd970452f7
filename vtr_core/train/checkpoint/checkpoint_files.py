"""Checkpoints: a folder of hashed files, complete once `checkpoint.json` is written; saving and reading them."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from vtr_core import storage
from vtr_core.backbones.weights import load_tensors
from vtr_core.config.override import record
from vtr_core.config.run import TrainConfig
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, StorageError, is_file_name
from vtr_core.storage.files import HashingSink, Sink
from vtr_core.systems.system import Systems
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary

_NAMES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}
_ALIGNMENT = 8


def write_tensors(tensors: Mapping[str, Tensor], sink: Sink) -> None:
    """Write the tensors, which `safetensors.torch.load` reads."""
    # wider types first, so that each tensor is aligned
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    header, end = {}, 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    sink.write(len(text).to_bytes(8, "little") + text)
    for _, tensor in ordered:
        sink.write(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)


MARKER = "checkpoint.json"
CONCEPTS = "concepts.json"
VERSION = 2

Content = bytes | Callable[[Sink], None]
"""A file's content, or what writes it to a binary sink."""


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
            hashing.write(content) if isinstance(content, bytes) else content(hashing)
        except RuntimeError as error:  # torch.save's, as it ends its archive after a failed write
            raise (hashing.fault or error) from error
        return hashing.digest.hexdigest()


def _training(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"optimizer": checkpoint.optimizer, "objective": checkpoint.objective, "trained": checkpoint.trained}


def _files(checkpoint: Checkpoint) -> dict[str, Content]:
    """The files of a checkpoint but the marker; tensors are written from their own memory, without a copy of all."""
    small: dict[str, Content] = {
        "config.json": _json(checkpoint.config.model_dump(mode="json")),
        "progress.json": _json(asdict(checkpoint.progress)),
        "vocabulary.json": checkpoint.vocabulary.to_json(),
        "provenance.json": _json(checkpoint.provenance),
    }
    if checkpoint.concepts is not None:
        small[CONCEPTS] = checkpoint.concepts.to_json()
    return {
        **small,
        "model.safetensors": partial(write_tensors, checkpoint.model),
        "optimizer.pt": partial(torch.save, _training(checkpoint)),
    }


def is_complete(location: Location) -> bool:
    """Whether a checkpoint was written completely."""
    return storage.exists(location / MARKER)


def find_checkpoint(location: Location) -> Location:
    """The folder itself where it is a checkpoint's; a run folder's best checkpoint, else its newest."""
    if is_complete(location):
        return location
    folder = location / "checkpoints"
    if storage.exists(folder / "best.json"):
        best = storage.read_json(folder / "best.json")
        name = best.get("checkpoint") if isinstance(best, dict) else None
        if not isinstance(name, str) or not is_file_name(name):
            fault = "is damaged: it must name a folder beside it; give that folder itself"
            raise CheckpointError(f"{folder / 'best.json'} {fault}")
        return folder / name
    complete = complete_checkpoints(folder)
    if not complete:
        raise CheckpointError(
            f"{location} is not a checkpoint: it has no {MARKER}; give the folder of a run of vtr train, "
            "or one of the folders in its checkpoints/"
        )
    return complete[-1]


def complete_checkpoints(folder: Location) -> list[Location]:
    """The complete checkpoints in a run's `checkpoints/`, oldest first."""
    return [child for child in storage.children(folder) if child.name.startswith("step-") and is_complete(child)]


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


@dataclass(frozen=True)
class _Training:
    optimizer: dict[str, Any]
    objective: dict[str, Any]
    trained: dict[str, Any] | None


def load_checkpoint(location: Location, systems: Systems, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a whole checkpoint, to resume training."""
    reader = CheckpointReader(location)
    training = reader.training(device)
    return Checkpoint(
        config=reader.config(systems),
        model=reader.weights(),
        optimizer=training.optimizer,
        objective=training.objective,
        trained=training.trained,
        progress=reader.progress(),
        vocabulary=reader.vocabulary(),
        provenance=reader.provenance(),
        concepts=reader.concepts(),
    )


class CheckpointReader:
    """Reads a checkpoint's files and checks them against the marker's hashes."""

    def __init__(self, location: Location) -> None:
        if not is_complete(location):
            raise CheckpointError(f"{location} is not a complete checkpoint: it has no {MARKER}")
        marker = storage.read_json(location / MARKER)
        if not isinstance(marker, dict) or marker.get("version") != VERSION:
            raise CheckpointError(f"{location} is not a checkpoint of version {VERSION}, which this code reads")
        self._location = location
        files = marker.get("files")
        self._hashes: dict[str, Any] = files if isinstance(files, dict) else {}

    def read(self, name: str) -> bytes:
        """The file's bytes."""
        if name not in self._hashes or not storage.exists(self._location / name):
            raise CheckpointError(f"{self._location} lacks {name}; use another checkpoint of the run")
        try:
            content = storage.read_bytes(self._location / name)
        except OSError as error:
            if not self._location.is_local:  # a network failure does not mean that the file is damaged
                raise
            raise self._damaged(name, error) from error
        if hashlib.sha256(content).hexdigest() != self._hashes[name]:
            raise CheckpointError(f"{self._location / name} is damaged (its sha256 differs); use another checkpoint")
        return content

    def weights(self) -> dict[str, Tensor]:
        """The weights of the model as it is evaluated."""
        content = self.read("model.safetensors")
        try:
            return safetensors.torch.load(content)
        except Exception as error:  # the parser raises many kinds of errors for a damaged file
            raise self._damaged("model.safetensors", error) from error

    def training(self, device: torch.device | str) -> "_Training":
        """The state that only resuming needs. Nothing is unpickled: only tensors and plain containers are read."""
        content = self.read("optimizer.pt")
        try:
            value = load_tensors(io.BytesIO(content), device)
        except Exception as error:  # the restricted unpickler raises many kinds of errors
            place = self._location / "optimizer.pt"
            raise CheckpointError(f"{place} is refused: it is damaged or holds more than tensors") from error
        try:
            training = record(_Training, value)
            if not all(isinstance(tensor, Tensor) for tensor in training.objective.values()):
                raise ValueError("its objective holds other values than tensors")
            return training
        except ValueError as error:
            raise self._damaged("optimizer.pt", error) from error

    def progress(self) -> Progress:
        """The progress of the run."""
        try:
            progress = record(Progress, self._json("progress.json"))
            if progress.step < 0:
                raise ValueError(f"the step is {progress.step}")
        except ValueError as error:
            raise self._damaged("progress.json", error) from error
        return progress

    def vocabulary(self) -> Vocabulary:
        """The model's vocabulary."""
        try:
            return Vocabulary.from_json(self.read("vocabulary.json"), str(self._location / "vocabulary.json"))
        except DatasetError as error:
            raise self._damaged("vocabulary.json", error) from error

    def concepts(self) -> ConceptNames | None:
        """The concepts that the model detects, where the checkpoint lists any."""
        if CONCEPTS not in self._hashes:
            return None
        try:
            return ConceptNames.from_json(self.read(CONCEPTS), str(self._location / CONCEPTS))
        except DatasetError as error:
            raise self._damaged(CONCEPTS, error) from error

    def provenance(self) -> dict[str, Any]:
        """The provenance of the checkpoint."""
        value = self._json("provenance.json")
        if not isinstance(value, dict):
            raise self._damaged("provenance.json", "it is no object")
        return value

    def _json(self, name: str) -> Any:
        try:
            return parse_json(self.read(name))
        except ValueError as error:
            raise self._damaged(name, error) from error

    def _damaged(self, name: str, fault: object) -> CheckpointError:
        return CheckpointError(f"{self._location / name} is damaged ({fault}); use another checkpoint of the run")

    def config(self, systems: Systems) -> TrainConfig:
        """The run's configuration, which this version of the code must support."""
        values = self._json("config.json")
        try:
            return systems.config(values)
        except ConfigError as error:
            model = values.get("model") if isinstance(values, dict) else None
            kind = model.get("kind") if isinstance(model, dict) else None
            place = self._location / "config.json"
            raise CheckpointError(f"{place} is of a {kind!r} model that this code cannot read: {error}") from error
