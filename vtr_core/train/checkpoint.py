"""Checkpoints: a folder that is complete once `checkpoint.json`, written last, lists its files with their hashes.

`config.json`, `model.safetensors`, `optimizer.pt`, `progress.json`, `vocabulary.json`, `provenance.json`. Nothing in it
is unpickled: tensors are safetensors or read with `weights_only=True`. `model.safetensors` is what is evaluated;
`optimizer.pt` has all else that going on with training needs.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pickle import UnpicklingError
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from vtr_core import storage
from vtr_core.config.override import validate
from vtr_core.config.train import TrainConfig
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.models.build import build_model
from vtr_core.storage import Location, locate
from vtr_core.text.vocabulary import Vocabulary

MARKER = "checkpoint.json"
VERSION = 2


@dataclass(frozen=True)
class Progress:
    """Where a run stands: optimiser steps done, and what validation has seen so far."""

    step: int = 0
    best_value: float | None = None
    best_step: int | None = None
    flat_validations: int = 0
    """Validations since the best one."""
    skipped: int = 0
    """Steps skipped for a non-finite loss."""


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


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to embed, with the configuration and vocabulary it was trained with."""

    model: nn.Module
    config: TrainConfig
    vocabulary: Vocabulary
    provenance: dict[str, Any]
    progress: Progress
    uri: str


def save_checkpoint(location: Location, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a reader sees all of it or none."""
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
    for name, content in files.items():
        storage.write_bytes(location / name, content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    storage.write_json(location / MARKER, {"version": VERSION, "files": hashes})


def is_complete(location: Location) -> bool:
    """Whether a checkpoint was written to its end."""
    return storage.exists(location / MARKER)


def load_checkpoint(location: Location, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a whole checkpoint, for going on with training."""
    reader = _Reader(location)
    try:
        training = torch.load(io.BytesIO(reader.read("optimizer.pt")), map_location=device, weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError) as error:
        raise CheckpointError(f"{location / 'optimizer.pt'} is refused: it holds more than tensors") from error
    return Checkpoint(
        config=reader.config(),
        model=reader.weights(),
        optimizer=training["optimizer"],
        objective=training["objective"],
        trained=training["trained"],
        progress=Progress(**json.loads(reader.read("progress.json"))),
        vocabulary=Vocabulary.from_json(reader.read("vocabulary.json")),
        provenance=json.loads(reader.read("provenance.json")),
    )


def load_model(uri: str, device: torch.device | str = "cpu", average: int = 1) -> LoadedModel:
    """The model of a checkpoint folder, or of a run folder's best checkpoint, in evaluation mode on `device`.

    Needs that folder alone. With `average` k > 1 the weights are the mean of those of the run folder's k newest
    checkpoints, and everything else is the newest one's. Raises CheckpointError where a checkpoint is incomplete,
    damaged or of another system, or where there are fewer than k.
    """
    locations = [find_checkpoint(locate(uri))] if average == 1 else _newest(locate(uri), average)
    location = locations[-1]
    reader = _Reader(location)
    config = reader.config()
    model = build_model(config.model)
    load_weights(model, _mean_weights(locations), location)
    return LoadedModel(
        model=model.to(device).eval(),
        config=config,
        vocabulary=Vocabulary.from_json(reader.read("vocabulary.json")),
        provenance=json.loads(reader.read("provenance.json")),
        progress=Progress(**json.loads(reader.read("progress.json"))),
        uri=location.uri,
    )


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
        return folder / storage.read_json(folder / "best.json")["checkpoint"]
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
        self._hashes: dict[str, str] = marker["files"]

    def read(self, name: str) -> bytes:
        """The file's bytes."""
        if name not in self._hashes or not storage.exists(self._location / name):
            raise CheckpointError(f"{self._location} lacks {name}; use another checkpoint of the run")
        content = storage.read_bytes(self._location / name)
        if hashlib.sha256(content).hexdigest() != self._hashes[name]:
            raise CheckpointError(f"{self._location / name} is damaged (its sha256 differs); use another checkpoint")
        return content

    def weights(self) -> dict[str, Tensor]:
        """The weights of the model as it is evaluated."""
        return safetensors.torch.load(self.read("model.safetensors"))

    def config(self) -> TrainConfig:
        """The run's configuration, which this code must know."""
        values = json.loads(self.read("config.json"))
        try:
            return validate(TrainConfig, values)
        except ConfigError as error:
            kind = values.get("model", {}).get("kind")
            raise CheckpointError(
                f"{self._location} holds a {kind!r} model that this code cannot read: {error}"
            ) from error


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
