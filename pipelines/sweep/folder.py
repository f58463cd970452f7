"""A sweep's folder: its settings and the state of its trials, complete for resumption; and its parent run in MLflow.

sweep.json          the space, data sets, scheduler, search, MLflow run
config.json         the configuration that trials change
trials.json         every trial: its point, its state, its validations
trials/000/…        the trials' run folders, as those of vtr train
best_trials.json    written at the end
owner/              lease of the process that writes the folder (vtr_core.train.fleet.lease)
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from tune_spaces.spaces import build_space
from vtr_core import storage
from vtr_core.config.override import record as as_record
from vtr_core.config.search_space import SchedulerKind, SearchKind, Space
from vtr_core.data.manifest import Manifest
from vtr_core.errors import RunConflict, command_line
from vtr_core.fingerprint import short
from vtr_core.run.config import TrainConfig
from vtr_core.storage import Location
from vtr_core.systems.system import Systems
from vtr_core.tracking.environment import environment
from vtr_core.tracking.run import Status, TrackedRun, code, open_run, page_tags, quietly, reopen_run
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
                f"{self.location} already holds a sweep; continue it with "
                f"{command_line('sweep', '--resume', self.location)}, or choose another --out"
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
            return as_record(SweepRecord, storage.read_json(place))
        except ValueError as error:
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


PARENT = "mlflow.parentRunId"


@dataclass(frozen=True)
class Outcome:
    """The result of a sweep."""

    metrics: Mapping[str, float]
    """The best trial's, by name."""
    step: int
    tags: Mapping[str, str]
    artifacts: Mapping[str, str]
    """Texts by artifact path."""


def note(folder: SweepFolder, record: SweepRecord) -> str:
    """The description of the run, in Markdown, before there are results."""
    return (
        f"Sweep over {code(record.space)} on {code(record.data)}, compared by {code(record.metric)} on "
        f"{code(record.validation)}.\n\n- go on: {code(command_line('sweep', '--resume', folder.location.uri))}\n"
    )


def open_parent(folder: SweepFolder, record: SweepRecord, varied: Sequence[str], uri: str) -> TrackedRun | None:
    """The run, new or, for a resumed sweep, the same again; None where the store `uri` cannot be reached.

    varied: the names of the settings that trials differ in.
    """
    if record.mlflow_run_id is not None:
        return reopen_run(uri, record.experiment, record.mlflow_run_id)
    tags = {
        **page_tags(record.provenance, "vtr sweep", note(folder, record)),
        "stage": "sweep",
        "space": record.space,
        "sweep.folder": folder.location.uri,
        "data.fingerprint": short(record.data_fingerprint),
    }
    run = open_run(uri, record.experiment, f"sweep-{record.space}", tags)
    if run is None:
        return None
    names = ("space", "scheduler", "search", "num_samples", "search_seed", "metric")
    params: dict[str, Any] = {name: getattr(record, name) for name in names}
    with quietly(run):
        run.log_params({**params, "varied": ", ".join(varied), **record.changes})
        run.log_json("environment.json", environment())
        run.log_input(Manifest.load(record.validation), "validation")
        run.log_input(Manifest.load(record.data), "training")
    return run


def close_parent(run: TrackedRun, status: Status, outcome: Outcome | None, children: Sequence[str]) -> None:
    """Log the outcome, set `run` as the parent of those of the `children` that lack it, and close it."""
    with quietly(run):
        for child in children:
            if run.client.get_run(child).data.tags.get(PARENT) != run.run_id:
                TrackedRun(run.tracking_uri, run.experiment, child).set_tags({PARENT: run.run_id})
        if outcome is not None:
            run.log_metrics(outcome.metrics, outcome.step, int(time.time() * 1000))
            run.set_tags(outcome.tags)
            for path, text in outcome.artifacts.items():
                run.log_text(path, text)
        run.finish(status)
