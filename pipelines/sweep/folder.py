"""A sweep's folder: its settings and the state of its trials, complete for resumption.

sweep.json          the space, data sets, scheduler, search, MLflow run
config.json         the configuration that trials change
trials.json         every trial: its point, its state, its validations
trials/000/…        the trials' run folders, as those of vtr train
trials.csv, figures/…   written at the end
owner/              lease of the process that writes the folder (vtr_core.train.fleet.lease)
"""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from tune_spaces.spaces import build_space
from vtr_core import storage
from vtr_core.config.search_space import SchedulerKind, SearchKind, Space
from vtr_core.config.training import TrackerKind
from vtr_core.errors import RunConflict
from vtr_core.run.config import TrainConfig
from vtr_core.storage import Location
from vtr_core.systems.registry import Systems
from vtr_core.train.checkpoint.run_folder import RunFolder

State = Literal["waiting", "running", "finished", "stopped", "failed"]
ENDED: tuple[State, ...] = ("finished", "stopped")


@dataclass(frozen=True)
class SweepRecord:
    """The settings of a sweep."""

    space: str
    only: list[str]
    changes: dict[str, Any]
    """Settings given as --a.b value."""
    data: str
    validation: str
    data_fingerprint: str
    metric: str
    """The validation metric by which trials are compared, higher is better."""
    num_samples: int
    scheduler: SchedulerKind
    search: SearchKind
    search_seed: int
    max_concurrent: int | None
    tracking_uri: str
    """URI with passwords redacted."""
    experiment: str
    started: float
    provenance: dict[str, str]
    mlflow_run_id: str | None = None
    concepts: str | None = None
    """The concept table, for models with a concept space."""
    also: list[TrackerKind] = field(default_factory=list)
    """The trackers of trials beside MLflow."""


@dataclass(frozen=True)
class TrialRow:
    """The state of a trial."""

    number: int
    point: dict[str, Any]
    state: State = "waiting"
    reports: list[list[float]] = field(default_factory=list)
    """[epoch, best value so far] of every validation."""
    step: int = 0
    objective: float | None = None
    """The metric of the best validation."""
    seconds: float = 0.0
    reason: str = ""
    """The reason of a failure."""
    logged: bool = False
    """Whether the trial is completely logged to MLflow."""

    @property
    def name(self) -> str:
        """The trial's number with three digits."""
        return f"{self.number:03d}"


class SweepFolder:
    """The folder at `location`."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def claim(self, record: SweepRecord, base: TrainConfig) -> None:
        """Initialise the folder for a new sweep; RunConflict where it holds one. The caller must hold its lease."""
        self.require_free()
        storage.write_json(self.location / "config.json", base.model_dump(mode="json"))
        self.write(record)

    def require_free(self) -> None:
        """RunConflict where the folder holds a sweep or a run."""
        if storage.exists(self.location / "sweep.json"):
            raise RunConflict(
                f"{self.location} already holds a sweep; continue it with vtr sweep --resume {self.location}, "
                "or choose another --out"
            )
        if storage.exists(self.location / "run.json"):
            raise RunConflict(f"{self.location} holds a run of vtr train; choose another --out")

    def write(self, record: SweepRecord) -> None:
        """Write `sweep.json`."""
        storage.write_json(self.location / "sweep.json", asdict(record))

    def read(self, systems: Systems) -> tuple[SweepRecord, TrainConfig]:
        """The record and the base configuration; RunConflict where there is no sweep."""
        for name in ("sweep.json", "config.json"):
            if not storage.exists(self.location / name):
                raise RunConflict(f"{self.location} holds no sweep to resume: it has no {name}; give the --out of one")
        values = storage.read_json(self.location / "config.json")
        return self.record(), systems.config(values, str(self.location / "config.json"))

    def record(self) -> SweepRecord:
        """The record alone, without the configuration, which a later version may no longer understand."""
        place = self.location / "sweep.json"
        try:
            return SweepRecord(**storage.read_json(place))
        except TypeError as error:
            raise RunConflict(f"{place} is damaged ({error}); restore it, or start a new sweep") from error

    def run(self, row: TrialRow) -> RunFolder:
        """The run folder of a trial."""
        return RunFolder(self.location / "trials" / row.name)


class TrialTable:
    """The trials of a sweep, stored in `trials.json` at every change."""

    def __init__(self, location: Location) -> None:

        self._file = location / "trials.json"
        self._lock = threading.Lock()
        known = storage.read_json(self._file) if storage.exists(self._file) else []
        try:
            self._rows = {row["number"]: TrialRow(**row) for row in known}
        except (TypeError, KeyError) as error:
            raise RunConflict(f"{self._file} is damaged ({error}); restore it, or start a new sweep") from error

    def __getitem__(self, number: int) -> TrialRow:
        return self._rows[number]

    @property
    def rows(self) -> list[TrialRow]:
        """All trials by number."""
        return [self._rows[number] for number in sorted(self._rows)]

    def put(self, number: int, point: Mapping[str, Any], **changes: Any) -> TrialRow:
        """Add a trial, or change one."""
        with self._lock:
            before = self._rows.get(number, TrialRow(number, dict(point)))
            self._rows[number] = replace(before, point=dict(point), **changes)
            storage.write_json(self._file, [asdict(self._rows[known]) for known in sorted(self._rows)])
            return self._rows[number]

    def change(self, number: int, **changes: Any) -> TrialRow:
        """Change a trial."""
        return self.put(number, self._rows[number].point, **changes)


def space_of(record: SweepRecord, base: TrainConfig, systems: Systems) -> Space:
    """The space with the sweep's restrictions and fixed settings."""
    return build_space(record.space, systems).only(record.only).fixed(list(record.changes), base)
