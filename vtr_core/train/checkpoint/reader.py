"""Reading a checkpoint's files, each checked against the marker's hashes."""

import hashlib
import io
from dataclasses import dataclass
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from vtr_core import storage
from vtr_core.config.override import validate
from vtr_core.config.record import record
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
from vtr_core.json_text import parse_json
from vtr_core.run.config import TrainConfig
from vtr_core.storage import Location
from vtr_core.text.concepts.names import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.files import CONCEPTS, MARKER, VERSION, Checkpoint, Progress, is_complete


@dataclass(frozen=True)
class _Training:
    """The content of `optimizer.pt`; see `Checkpoint`."""

    optimizer: dict[str, Any]
    objective: dict[str, Any]
    trained: dict[str, Any] | None


def load_checkpoint(location: Location, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a whole checkpoint, to resume training."""
    reader = CheckpointReader(location)
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
            value = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        except Exception as error:  # the restricted unpickler raises many kinds of errors
            place = self._location / "optimizer.pt"
            raise CheckpointError(f"{place} is refused: it is damaged or holds more than tensors") from error
        try:
            return record(_Training, value)
        except ValueError as error:
            raise self._damaged("optimizer.pt", error) from error

    def progress(self) -> Progress:
        """The progress of the run."""
        try:
            found = record(Progress, self._json("progress.json"))
            if found.step < 0:
                raise ValueError(f"the step is {found.step}")
        except ValueError as error:
            raise self._damaged("progress.json", error) from error
        return found

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

    def config(self) -> TrainConfig:
        """The run's configuration, which this version of the code must support."""
        values = self._json("config.json")
        try:
            return validate(TrainConfig, values)
        except ConfigError as error:
            model = values.get("model") if isinstance(values, dict) else None
            kind = model.get("kind") if isinstance(model, dict) else None
            place = self._location / "config.json"
            raise CheckpointError(f"{place} is of a {kind!r} model that this code cannot read: {error}") from error
