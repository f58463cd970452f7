"""Checkpoints: a folder that is complete once `checkpoint.json`, written last, lists its files with their hashes.

`config.json`, `model.safetensors`, `optimizer.pt`, `progress.json`, `vocabulary.json`, `provenance.json`, and
`concepts.json` of a model with a concept space. Nothing in it is unpickled: tensors are safetensors or read with
`weights_only=True`. `model.safetensors` is what is evaluated; `optimizer.pt` has all else that going on with training
needs.
"""

import hashlib
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from vtr_core import storage
from vtr_core.config.dual_encoder import HybridEncoderConfig
from vtr_core.config.override import validate
from vtr_core.config.record import record
from vtr_core.config.train import TrainConfig
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
from vtr_core.json_text import parse_json
from vtr_core.models.build import build_model, check_model
from vtr_core.storage import Location, StorageError, is_file_name, locate
from vtr_core.text.concept_names import ConceptNames
from vtr_core.text.vocabulary import Vocabulary

MARKER = "checkpoint.json"
CONCEPTS = "concepts.json"
VERSION = 2


@dataclass(frozen=True)
class Progress:
    """Where a run stands: optimiser steps done, and what validation has seen so far."""

    step: int = 0
    best_value: float | None = None
    best_step: int | None = None
    value: float | None = None
    """Of the validation at this step, where there was one."""
    flat_validations: int = 0
    """Validations since the best one."""
    flat_at_rate: int = 0
    """Validations since the best one or since the last plateau."""
    plateaus: int = 0
    """How often validation has not gained for optimizer.plateau_patience validations."""
    skipped: int = 0
    """Steps skipped for a non-finite loss."""
    replaced_rows: int = 0
    """Rows that stood in for rows of unreadable row groups."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds, in memory."""

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
    """Of a model with a concept space."""


@dataclass(frozen=True)
class _Training:
    """The content of `optimizer.pt`; see `Checkpoint`."""

    optimizer: dict[str, Any]
    objective: dict[str, Any]
    trained: dict[str, Any] | None


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to embed, with the configuration and vocabulary it was trained with."""

    model: nn.Module
    config: TrainConfig
    vocabulary: Vocabulary
    provenance: dict[str, Any]
    progress: Progress
    uri: str
    concepts: tuple[str, ...] = ()
    """The names of the concepts in the order of the model's scores, where it has a concept space."""


def save_checkpoint(location: Location, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a reader sees all of it or none.

    Raises StorageError, with what it needs and what is free, where it cannot be written; nothing of it is left then, as
    far as the place lets it be deleted.
    """
    remove_checkpoint(location)
    files = _files(checkpoint)
    try:
        for name, content in files.items():
            storage.write_bytes(location / name, content)
    except (OSError, StorageError) as error:
        with suppress(OSError, StorageError):
            remove_checkpoint(location)
        needed = sum(map(len, files.values()))
        raise StorageError(
            f"{location} cannot be written: {error} (it needs {_size(needed)}{_free(location)})"
        ) from error


def remove_checkpoint(location: Location) -> None:
    """Delete a checkpoint, or what there is of one; interrupted at any moment, what stays is not a checkpoint."""
    storage.delete_file(location / MARKER)
    storage.delete_folder(location)


def _free(location: Location) -> str:
    if not location.is_local:
        return ""
    place = next(path for path in Path(location.path).parents if path.exists())
    return f", {_size(shutil.disk_usage(place).free)} are free"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def _files(checkpoint: Checkpoint) -> dict[str, bytes]:
    """The files of a checkpoint, the marker last."""
    optimizer = io.BytesIO()
    training = {
        "optimizer": checkpoint.optimizer,
        "objective": checkpoint.objective,
        "trained": checkpoint.trained,
    }
    torch.save(training, optimizer)
    files = {
        "config.json": _json(checkpoint.config.model_dump(mode="json")),
        "model.safetensors": safetensors.torch.save(checkpoint.model),
        "optimizer.pt": optimizer.getvalue(),
        "progress.json": _json(asdict(checkpoint.progress)),
        "vocabulary.json": checkpoint.vocabulary.to_json(),
        "provenance.json": _json(checkpoint.provenance),
    }
    if checkpoint.concepts is not None:
        files[CONCEPTS] = checkpoint.concepts.to_json()
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return {**files, MARKER: _json({"version": VERSION, "files": hashes})}


def is_complete(location: Location) -> bool:
    """Whether a checkpoint was written to its end."""
    return storage.exists(location / MARKER)


def load_checkpoint(location: Location, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a whole checkpoint, for going on with training."""
    reader = _Reader(location)
    training = reader.training(device)
    return Checkpoint(
        config=reader.config(),
        model=reader.weights(),
        optimizer=training.optimizer,
        objective=training.objective,
        trained=training.trained,
        progress=reader.progress(),
        vocabulary=reader.vocabulary(),
        provenance=reader.provenance(),
        concepts=reader.concepts(),
    )


def load_model(uri: str, device: torch.device | str = "cpu", average: int = 1) -> LoadedModel:
    """The model of a checkpoint folder, of a run folder's best checkpoint, or of a registered model, on `device`.

    It is in evaluation mode, and needs that folder alone. `models:/NAME@ALIAS` and `models:/NAME/VERSION` are looked up
    in the MLflow store of MLFLOW_TRACKING_URI. With `average` k > 1 the weights are the mean of those of the run
    folder's k newest checkpoints, and everything else is the newest one's. Raises CheckpointError where a checkpoint is
    incomplete, damaged or of another system, or where there are fewer than k.
    """
    if not uri.startswith("models:"):
        return _load(locate(uri), device, average)
    if average > 1:
        raise CheckpointError(f"{uri} is one checkpoint, {average} are to be averaged; give a run folder")
    from vtr_core.tracking.registry import registered_checkpoint  # MLflow, which takes seconds to import

    with registered_checkpoint(uri) as found:
        return replace(_load(found.location, device), uri=found.uri)


def _load(place: Location, device: torch.device | str, average: int = 1) -> LoadedModel:
    storage.check_readable(place)
    locations = [find_checkpoint(place)] if average == 1 else _newest(place, average)
    location = locations[-1]
    reader = _Reader(location)
    config, vocabulary = reader.config(), reader.vocabulary()
    if len(vocabulary) != config.model.inputs.num_words:
        what = f"a model of {config.model.inputs.num_words} words, but its vocabulary has {len(vocabulary)}"
        raise CheckpointError(f"{location} has {what}; use another checkpoint of the run")
    concepts = reader.concepts()
    _check_concepts(config, concepts, location)
    weights = _mean_weights(locations)
    _check_shapes(config, weights, location)
    model = build_model(config.model)
    load_weights(model, weights, location)
    return LoadedModel(
        model=model.to(device).eval(),
        config=config,
        vocabulary=vocabulary,
        provenance=reader.provenance(),
        progress=reader.progress(),
        uri=location.uri,
        concepts=() if concepts is None else concepts.names,
    )


def _check_concepts(config: TrainConfig, found: ConceptNames | None, where: Location) -> None:
    """CheckpointError where the names of the concepts are not those of the model's concept space."""
    wanted = config.model.num_concepts or 0 if isinstance(config.model, HybridEncoderConfig) else 0
    held = 0 if found is None else len(found.names)
    if held != wanted:
        raise CheckpointError(
            f"{where} has a model of {wanted} concepts, but names {held}; use another checkpoint of the run"
        )


def _check_shapes(config: TrainConfig, weights: Mapping[str, Tensor], where: Location) -> None:
    """CheckpointError where the configuration's model has other weights; found out before memory is taken for it."""
    try:
        expected = check_model(config.model)
    except ConfigError as error:
        raise CheckpointError(f"{where / 'config.json'}: {error}") from error
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    faults = [
        f"{name} is {found.get(name, 'missing')}, the model's {expected.get(name, 'is not there')}"
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
    ]
    if faults:
        raise CheckpointError(f"{where / 'model.safetensors'}: the weights do not fit the model: {'; '.join(faults)}")


def load_weights(model: nn.Module, weights: dict[str, Tensor], where: Location) -> None:
    """Put `weights` into `model`; CheckpointError where names or shapes do not fit."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(f"{where}: the weights do not fit the model: {' '.join(str(error).split())}") from error


def find_checkpoint(location: Location) -> Location:
    """A checkpoint folder as it is; of a run folder its best checkpoint, else its newest."""
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


def _newest(folder: Location, count: int) -> list[Location]:
    """The `count` newest checkpoints of a run folder, oldest first."""
    complete = complete_checkpoints(folder / "checkpoints")
    if len(complete) < count:
        raise CheckpointError(
            f"{folder} holds {len(complete)} checkpoints of a run, {count} are to be averaged; give a run folder, "
            f"trained with --training.keep_checkpoints {count} or more"
        )
    return complete[-count:]


def _mean_weights(locations: Sequence[Location]) -> dict[str, Tensor]:
    """The mean of the checkpoints' weights, in float64, one checkpoint in memory at a time; integers are the last's."""
    total = _Reader(locations[0]).weights()
    if len(locations) == 1:
        return total
    total = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in total.items()}
    for location in locations[1:]:
        weights = _Reader(location).weights()
        total = {name: total[name] + t if t.is_floating_point() else t for name, t in weights.items()}
    return {n: (total[n] / len(locations)).to(t.dtype) if t.is_floating_point() else t for n, t in weights.items()}


class _Reader:
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
            if not self._location.is_local:  # a network that is down says nothing of the file
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
        except Exception as error:  # whatever the parser meets in a damaged file
            raise self._damaged("model.safetensors", error) from error

    def training(self, device: torch.device | str) -> "_Training":
        """What only going on with training needs. Never unpickled: tensors and plain containers alone are read."""
        content = self.read("optimizer.pt")
        try:
            value = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        except Exception as error:  # whatever the restricted unpickler meets
            place = self._location / "optimizer.pt"
            raise CheckpointError(f"{place} is refused: it is damaged or holds more than tensors") from error
        try:
            return record(_Training, value)
        except ValueError as error:
            raise self._damaged("optimizer.pt", error) from error

    def progress(self) -> Progress:
        """Where the run stood."""
        try:
            found = record(Progress, self._json("progress.json"))
            if found.step < 0:
                raise ValueError(f"the step is {found.step}")
        except ValueError as error:
            raise self._damaged("progress.json", error) from error
        return found

    def vocabulary(self) -> Vocabulary:
        """The words that the model knows."""
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
        """Where the checkpoint comes from."""
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

    def config(self) -> TrainConfig:
        """The run's configuration, which this code must know."""
        values = self._json("config.json")
        try:
            return validate(TrainConfig, values)
        except ConfigError as error:
            model = values.get("model") if isinstance(values, dict) else None
            kind = model.get("kind") if isinstance(model, dict) else None
            place = self._location / "config.json"
            raise CheckpointError(f"{place} is of a {kind!r} model that this code cannot read: {error}") from error


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
