"""A run's folder: what was asked, its checkpoints and its metrics, on a disk or an object store.

run.json            data sets, MLflow run; its presence claims the folder
config.json         the resolved configuration
metrics.jsonl       every logged point
checkpoints/        step-00000100/…, best.json
"""

from dataclasses import asdict, dataclass
from typing import Any

from vtr_core import storage
from vtr_core.config.override import validate
from vtr_core.config.train import TrainConfig
from vtr_core.errors import RunConflict
from vtr_core.storage import Location, locate
from vtr_core.train.checkpoint import Checkpoint, complete_checkpoints, load_checkpoint, save_checkpoint


@dataclass(frozen=True)
class RunRecord:
    """What a run was started with, beside its configuration."""

    data: str
    validation: str | None
    data_fingerprint: str
    tracking_uri: str
    experiment: str
    mlflow_run_id: str | None = None


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
        """Where the checkpoints lie."""
        return self.location / "checkpoints"

    def claim(self, record: RunRecord, config: TrainConfig) -> None:
        """Take the folder for a new run; RunConflict where another run has it."""
        if storage.exists(self.location / "run.json"):
            raise RunConflict(
                f"{self.location} already holds a run; continue it with vtr train --resume {self.location}, "
                "or choose another --out"
            )
        storage.write_json(self.location / "config.json", config.model_dump(mode="json"))
        self.write_record(record)

    def write_record(self, record: RunRecord) -> None:
        """Write `run.json`."""
        storage.write_json(self.location / "run.json", asdict(record))

    def read(self) -> tuple[RunRecord, TrainConfig]:
        """The record and the configuration of an existing run; RunConflict where there is none."""
        if not storage.exists(self.location / "run.json"):
            raise RunConflict(f"{self.location} holds no run to resume: it has no run.json; give the --out of a run")
        config: dict[str, Any] = storage.read_json(self.location / "config.json")
        return RunRecord(**storage.read_json(self.location / "run.json")), validate(TrainConfig, config)

    def save(self, checkpoint: Checkpoint, keep: int) -> Location:
        """Write a checkpoint, point `best.json` to it where it is the best, and delete old ones but `keep`."""
        place = self.checkpoint_at(checkpoint.progress.step)
        save_checkpoint(place, checkpoint)
        if checkpoint.progress.best_step == checkpoint.progress.step:
            best = {"checkpoint": place.name, "value": checkpoint.progress.best_value}
            storage.write_json(self.checkpoints / "best.json", best)
        best_name = self.checkpoint_at(checkpoint.progress.best_step or 0).name
        for old in complete_checkpoints(self.checkpoints)[:-keep]:
            if old.name != best_name:
                storage.delete_folder(old)
        return place

    def checkpoint_at(self, step: int) -> Location:
        """Where the checkpoint of `step` lies, or would."""
        return self.checkpoints / f"step-{step:08d}"

    def latest(self) -> Checkpoint | None:
        """The newest complete checkpoint, or None at a run's beginning."""
        complete = complete_checkpoints(self.checkpoints)
        return load_checkpoint(complete[-1]) if complete else None
