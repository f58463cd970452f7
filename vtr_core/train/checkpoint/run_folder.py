"""A run's folder: configuration, checkpoints and metrics; a trial may continue from another's folder."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vtr_core import storage
from vtr_core.config.data_sets import joined, joined_uris, joined_weights
from vtr_core.config.override import record
from vtr_core.config.run import TrainConfig
from vtr_core.errors import RunConflict, command_line
from vtr_core.storage import Location, StorageError, locate
from vtr_core.storage.stated_places import resumed_place
from vtr_core.systems.system import Systems
from vtr_core.train.checkpoint.checkpoint_files import (
    Checkpoint,
    complete_checkpoints,
    load_checkpoint,
    remove_checkpoint,
    save_checkpoint,
)


@dataclass(frozen=True)
class RunRecord:
    """The inputs of a run beside its configuration."""

    data: str
    validation: str | None
    data_fingerprint: str
    tracking_uri: str
    """URI with passwords redacted."""
    experiment: str
    mlflow_run_id: str | None = None
    started: float = 0.0
    """Unix seconds."""
    concepts: str | None = None
    """The concept table, of a model with a concept space."""
    init: str | None = None
    """The model whose weights the run starts from; None: freshly drawn ones."""


def resumed_places(stated: Mapping[str, str | None], named: Mapping[str, str | None], folder: str) -> dict[str, Any]:
    """The places by which the run or sweep in `folder` goes on: those `named` by the user, else those it states.

    Both by the name of the flag that names one. A data set that is named again keeps its weight beside others.
    StorageError, which asks for the flag, for one that a folder may not state, see `resumed_place`.
    """

    def place(flag: str, uri: str | None) -> str | None:
        again = named.get(flag)
        if uri is None:
            return again
        if again is not None and len(joined_uris(again)) == len(joined_uris(uri)):
            return joined(joined_uris(again), joined_weights(uri))
        if again is not None:
            return again
        parts = [resumed_place(part, folder, f"--{flag}") for part in joined_uris(uri)]
        return joined(parts, joined_weights(uri))

    return {flag: place(flag, uri) for flag, uri in stated.items()}


@dataclass(frozen=True)
class RunFolder:
    """The folder at `location`."""

    location: Location

    @classmethod
    def at(cls, uri: str) -> "RunFolder":
        """The run folder at `uri`, which need not exist yet."""
        return cls(locate(uri))

    @property
    def checkpoints(self) -> Location:
        """The folder of the checkpoints."""
        return self.location / "checkpoints"

    def require_free(self) -> None:
        """Raise RunConflict where the folder belongs to another run."""
        if storage.exists(self.location / "run.json"):
            begun = any(storage.children(self.checkpoints))
            remedy = "choose another --out" if begun else "delete it, as it has no checkpoint yet"
            raise RunConflict(
                f"{self.location} already holds a run; continue it with "
                f"{command_line('train', '--resume', self.location)}, or {remedy}"
            )

    def claim(self, record: RunRecord, config: TrainConfig) -> None:
        """Make the folder that of a new run; RunConflict where another run has it. The caller holds its lease."""
        self.require_free()
        self.write_config(config)
        self.write_record(record)

    def write_config(self, config: TrainConfig) -> None:
        """Write `config.json`."""
        storage.write_json(self.location / "config.json", config.model_dump(mode="json"))

    def write_record(self, record: RunRecord) -> None:
        """Write `run.json`."""
        storage.write_json(self.location / "run.json", asdict(record))

    def read(self, systems: Systems) -> tuple[RunRecord, TrainConfig]:
        """The record and the configuration of an existing run; RunConflict where there is none."""
        if not storage.exists(self.location / "run.json"):
            raise RunConflict(f"{self.location} holds no run to resume: it has no run.json; give the --out of a run")
        place = self.location / "config.json"
        if not storage.exists(place):
            raise RunConflict(f"{self.location} holds no run to resume: it has no config.json; restore it")
        try:
            run = record(RunRecord, storage.read_json(self.location / "run.json"))
        except ValueError as error:
            fault = f"is damaged ({error}); restore it, or start a new run"
            raise RunConflict(f"{self.location / 'run.json'} {fault}") from error
        return run, systems.config(storage.read_json(place), str(place))

    def save(self, checkpoint: Checkpoint, keep: int) -> Location:
        """Write a checkpoint, then name the best in `best.json`, then delete old ones but `keep` and the best.

        Raises StorageError or OSError where it cannot be written. Nothing is deleted before the new checkpoint is
        complete.
        """
        place = self.checkpoint_at(checkpoint.progress.step)
        save_checkpoint(place, checkpoint)
        best = self._name_best()
        for old in complete_checkpoints(self.checkpoints)[:-keep]:
            if old.name != best:
                remove_checkpoint(old)
        return place

    def tidy(self) -> None:
        """Delete what an interrupted writer left in `checkpoints/`, and update `best.json` if it did not."""
        complete = {place.name for place in complete_checkpoints(self.checkpoints)}
        for child in storage.children(self.checkpoints):
            if child.name.startswith("step-") and child.name not in complete:
                remove_checkpoint(child)
            elif ".part-" in child.name:
                storage.delete_file(child)
        self._name_best()

    def _name_best(self) -> str | None:
        """Write the complete checkpoint with the best validation to `best.json`; the first one of equals, NaN last."""
        values = {place.name: _validation(place) for place in complete_checkpoints(self.checkpoints)}
        known = {name: value for name, value in values.items() if value is not None}
        if not known:
            return None
        name = max(known, key=lambda name: (not math.isnan(known[name]), known[name]))
        best = {"checkpoint": name, "value": known[name]}
        file = self.checkpoints / "best.json"
        content = (json.dumps(best, indent=1) + "\n").encode()
        if not storage.exists(file) or storage.read_bytes(file) != content:
            storage.write_bytes(file, content)
        return name

    def checkpoint_at(self, step: int) -> Location:
        """The folder of the checkpoint of `step`, whether it exists or not."""
        return self.checkpoints / f"step-{step:08d}"

    def latest(self, systems: Systems) -> Checkpoint | None:
        """The newest complete checkpoint, or None at a run's beginning."""
        complete = complete_checkpoints(self.checkpoints)
        return load_checkpoint(complete[-1], systems) if complete else None


def _validation(place: Location) -> float | None:
    """The validation metric at a complete checkpoint's own step; None where there was no validation."""
    try:
        value = storage.read_json(place / "progress.json").get("value")
    except (StorageError, FileNotFoundError):
        return None
    return value if isinstance(value, float) else None
