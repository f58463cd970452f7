"""A sweep: its trials by Ray Tune, from the first to the best, and what is left of each."""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from pipelines.arguments import check_counts
from pipelines.ray_session import connect
from pipelines.sweep.command import SweepFlags
from pipelines.sweep.folder import (
    ENDED,
    PARENT,
    SweepFolder,
    SweepRecord,
    TrialRow,
    TrialTable,
    close_parent,
    open_parent,
    space_of,
)
from pipelines.sweep.outcome import conclude, settings
from pipelines.sweep.tune_trials import concurrent_trials, run_trials
from pipelines.systems.registry import SYSTEMS
from pipelines.train.command import data_sets
from tune_spaces.spaces import build_space, check_space
from tune_spaces.trial_search import OBJECTIVE, TIME, VALUE
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.config.search_space import grid_points
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.errors import ConfigError, DatasetError, VtrError, command_line, one_line
from vtr_core.limits import SWEEP
from vtr_core.redaction import redact
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import enough_concepts, require_features, usable_concepts, usable_data, with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import Location, check_writable, locate
from vtr_core.tracking.environment import provenance
from vtr_core.tracking.run import Status
from vtr_core.tracking.store import default_tracking_uri, full_tracking_uri
from vtr_core.train.checkpoint.run_folder import resumed_places
from vtr_core.train.fleet.lease import Lease, may_be_held
from vtr_core.train.job import total_steps
from vtr_core.train.tracked import Child, Tracking


class SweepTrials(Callback):
    """Records the trials of a sweep. Their MLflow runs are opened and closed here, never in a trial."""

    def __init__(
        self, folder: SweepFolder, record: SweepRecord, table: TrialTable, tracking_uri: str, parent: str | None
    ) -> None:
        self._folder, self._record, self._table = folder, record, table
        self._uri, self._parent = tracking_uri, parent
        self._tracking: dict[int, Tracking] = {}
        self._closing: list[threading.Thread] = []
        self._began: dict[int, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Empty state: Tune pickles callbacks for its restoration, which is not used."""
        return {}

    def on_trial_start(self, trial: Trial, **info: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Called when the trial's actor has claimed its folder and has not begun to train."""
        number, point = _of(trial)
        self._began.setdefault(number, time.monotonic())
        row = self._table.put(number, point, state="running")
        if number not in self._tracking:
            self._open(row)
            print(f"  trial {row.name}  starts      {settings(point)}", flush=True)

    def on_trial_result(  # type: ignore[override]
        self,
        trial: Trial,
        result: dict[str, Any],
        **info: Any,  # noqa: ARG002
    ) -> None:
        """Record a validation, or the end of a trial."""
        if "failed" in result:
            return
        number, _ = _of(trial)
        row = self._table[number]
        reports, place = row.reports, [result[TIME], result[OBJECTIVE]]
        if place in reports:  # the final result repeats the last validation
            return
        reports = [*reports, place]
        self._table.change(number, reports=reports, objective=result[OBJECTIVE], step=result["step"])
        print(
            f"  trial {row.name}  epoch {result[TIME]:5.1f}  {self._record.metric.removeprefix('val/')} "
            f"{result[VALUE]:8.3f}  "
            f"best {result[OBJECTIVE]:8.3f}",
            flush=True,
        )

    def on_trial_complete(self, trial: Trial, **info: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Record a trial that ended, or that the scheduler has decided to stop."""
        number, _ = _of(trial)
        result = trial.last_result
        if "failed" in result:
            self._fail(number, str(result["failed"]))
            return
        finished = bool(result.get("finished"))
        row = self._ended(number, state="finished" if finished else "stopped")
        print(f"  trial {row.name}  {'finished' if finished else f'stopped by {self._record.scheduler}'}", flush=True)

    def on_trial_error(self, trial: Trial, **info: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Record a trial whose process was lost; the sweep continues."""
        number, point = _of(trial)
        self._table.put(number, point)
        self._fail(number, _reason(trial))

    def resend(self) -> None:
        """Complete the MLflow runs of trials that ended while the store was unreachable, or just before the driver."""
        for row in self._table.rows:
            if row.state in ENDED and not row.logged:
                self._open(row)
                self._close(row)

    def end(self) -> None:
        """Wait for pending MLflow requests; the MLflow runs of trials of an interrupted sweep end as KILLED."""
        for thread in self._closing:
            thread.join()
        for row in self._table.rows:
            if row.state == "stopped":
                self._add_late_validation(row)
        for tracking in list(self._tracking.values()):
            tracking.end("KILLED")
        self._tracking.clear()

    def _add_late_validation(self, row: TrialRow) -> None:
        """The objective is that of the best checkpoint: a trial may validate once more before it hears of its stop."""
        run = self._folder.run(row).location
        _wait_until_released(run)
        file = run / "checkpoints" / "best.json"
        best = float(storage.read_json(file)["value"]) if storage.exists(file) else math.nan
        if row.objective is not None and best > row.objective:
            self._table.change(row.number, objective=best)

    def _fail(self, number: int, reason: str) -> None:
        row = self._ended(number, state="failed", reason=reason)
        print(f"  trial {row.name}  failed      {reason}", flush=True)

    def _ended(self, number: int, **changes: Any) -> TrialRow:
        row = self._table[number]
        seconds = row.seconds + time.monotonic() - self._began.pop(number, time.monotonic())
        row = self._table.change(number, seconds=seconds, **changes)
        self._close(row)
        return row

    def _open(self, row: TrialRow) -> None:
        run = self._folder.run(row)
        try:
            record, config = run.read(SYSTEMS)
        except VtrError:  # the trial could not claim its folder, and reports it itself
            return
        tags = {"trial": row.name, "sweep": self._record.space, **({PARENT: self._parent} if self._parent else {})}
        again = command_line("sweep", "--resume", self._folder.location)
        child = Child(f"trial-{row.name}", tags, again)
        tracking = Tracking(run, record, config, self._record.provenance, self._uri, child)
        tracking.begin()
        self._tracking[row.number] = tracking

    def _close(self, row: TrialRow) -> None:
        tracking = self._tracking.pop(row.number, None)
        if tracking is not None:
            thread = threading.Thread(target=self._finish, args=(row, tracking), name="close-trial", daemon=True)
            thread.start()
            self._closing.append(thread)

    def _finish(self, row: TrialRow, tracking: Tracking) -> None:
        _wait_until_released(self._folder.run(row).location)
        status: Status = "FAILED" if row.state == "failed" else "FINISHED"
        tags: Mapping[str, Mapping[str, str]] = {
            "stopped": {"stopped_early": self._record.scheduler},
            "failed": {"reason": row.reason},
        }
        if tracking.end(status, tags.get(row.state)):
            self._table.change(row.number, logged=True)


def _of(trial: Trial) -> tuple[int, dict[str, Any]]:
    return trial.config["trial"]["number"], dict(trial.config["trial"]["point"])


def _reason(trial: Trial) -> str:
    """The last line of Tune's error message for a trial whose process ended."""
    file = Path(trial.error_file) if trial.error_file else None
    lines = file.read_text(errors="replace").split("\n") if file is not None and file.exists() else []
    said = [line.strip() for line in lines if line.strip()]
    return one_line(said[-1]) if said else "its process ended"


def _wait_until_released(run: Location) -> None:
    """Return once the trial has left its folder, or was killed in it, or SWEEP's patience is over."""
    deadline = time.monotonic() + SWEEP.seconds()
    while may_be_held(run) and time.monotonic() < deadline:
        time.sleep(0.5)


def sweep(name: str, flags: SweepFlags, changes: Mapping[str, Any]) -> Location:
    """Start a new sweep; returns its folder."""
    check_counts("vtr sweep", num_samples=flags.num_samples, max_concurrent=flags.max_concurrent)
    config = override(preset(build_space(name, SYSTEMS).preset), changes)
    data, validation = _data_sets(flags, config)
    base = with_inputs(config, data)
    require_features(base, data)
    space = build_space(name, SYSTEMS).only(flags.only).fixed(list(changes), base)
    _check_length(base, data)
    check_space(space, base)
    concepts = usable_concepts(base, data, flags.data, flags.concepts)
    if flags.search == "grid":
        grid_points(space, flags.num_samples, enough_concepts(base, concepts))
    folder = SweepFolder(locate(flags.out or f"runs/sweep-{name}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"))
    check_writable(folder.location)
    folder.require_free()
    record = SweepRecord(
        space=name,
        only=list(flags.only),
        changes=dict(changes),
        data=data.uri,
        validation=validation.location.uri,
        data_fingerprint=data.fingerprint,
        metric=base.training.metric,
        num_samples=flags.num_samples,
        scheduler=flags.scheduler or ("none" if flags.search == "grid" else "asha"),
        search=flags.search,
        search_seed=flags.search_seed,
        max_concurrent=flags.max_concurrent,
        tracking_uri=redact(default_tracking_uri()),
        experiment=flags.experiment,
        started=time.time(),
        provenance=provenance(),
        concepts=concepts,
    )
    _connect(base, record, flags.worker_logs)
    with Lease.take(folder.location):
        folder.claim(record, base)
        _run(folder, record, base)
    return folder.location


def resume(uri: str, worker_logs: bool = False, named: Mapping[str, str | None] | None = None) -> Location:
    """Resume the sweep at `uri`: ended trials are kept, others continue from their newest checkpoints; its folder.

    named: the places of its data that the user names again, by flag, see `resumed_places`.
    """
    folder = SweepFolder(locate(uri))
    check_writable(folder.location)
    folder.read(SYSTEMS)
    with Lease.take(folder.location):
        record, base = folder.read(SYSTEMS)
        stated = {"data": record.data, "validation": record.validation, "concepts": record.concepts}
        record = replace(record, **resumed_places(stated, named or {}, folder.location.uri))
        if usable_data(base.model, record.data, base.on_bad_shard).fingerprint != record.data_fingerprint:
            raise DatasetError(f"{record.data} has changed since the sweep began; restore it, or start a new sweep")
        _connect(base, record, worker_logs)
        _run(folder, record, base)
    return folder.location


def _data_sets(flags: SweepFlags, config: TrainConfig) -> tuple[Manifest, Manifest]:
    data, validation = data_sets(flags, config)
    if validation is None:
        raise DatasetError(
            f"{flags.data} has no validation split, by which trials are compared; give one with --validation URI"
        )
    return data, validation


def _check_length(config: TrainConfig, data: Manifest) -> None:
    """ConfigError where a trial would end before its first validation."""
    plan = Plan(data, config.batch, config.seed)
    first = config.training.validate_every * plan.steps_per_epoch
    if total_steps(config, plan) < first:
        raise ConfigError(
            f"a trial has {total_steps(config, plan)} steps, the first validation would come at step {first}; "
            "lower training.validate_every, or raise training.epochs or training.max_steps"
        )


def _connect(config: TrainConfig, record: SweepRecord, worker_logs: bool) -> None:
    connect(config.scaling.cpus * (record.max_concurrent or 1), worker_logs)
    concurrent_trials(config, record.max_concurrent)


def _run(folder: SweepFolder, record: SweepRecord, base: TrainConfig) -> None:
    """Run the trials within a parent MLflow run, and conclude the sweep."""
    space, table = space_of(record, base, SYSTEMS), TrialTable(folder.location)
    uri, varied = full_tracking_uri(record.tracking_uri), list(space.parameters)
    parent = open_parent(folder, record, varied, uri)
    if parent is not None:
        record = replace(record, mlflow_run_id=parent.run_id)
        folder.write(record)
    at_once = concurrent_trials(base, record.max_concurrent)
    print(
        f"sweep {folder.location}: {record.num_samples} trials, {at_once} at once, {record.scheduler}, {record.search}",
        flush=True,
    )
    trials = SweepTrials(folder, record, table, uri, record.mlflow_run_id)
    status: Status = "FAILED"
    outcome = None
    try:
        try:
            trials.resend()
            run_trials(folder, record, base, space, table, trials)
        finally:
            trials.end()
        outcome = conclude(folder, record, space, table, uri)
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        print(f"go on       {command_line('sweep', '--resume', folder.location)}")
        raise
    finally:
        parent = parent or open_parent(folder, record, varied, uri)
        if parent is None:
            again = command_line("sweep", "--resume", folder.location)
            print(f"MLflow lacks the sweep; {again} sends it once the store is back")
        else:
            folder.write(replace(record, mlflow_run_id=parent.run_id))
            places = [folder.run(row).location / "run.json" for row in table.rows]
            ids = [storage.read_json(place).get("mlflow_run_id") for place in places if storage.exists(place)]
            close_parent(parent, status, outcome, [run_id for run_id in ids if run_id is not None])
            print(f"MLflow run  {parent.run_id} in {parent.store}")
