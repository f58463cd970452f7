"""The driver's callbacks when trials start, report and end: trial table, progress lines, MLflow runs."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from pipelines.sweep.folder import ENDED, SweepFolder, SweepRecord, TrialRow, TrialTable
from pipelines.sweep.outcome import settings
from pipelines.sweep.parent_run import PARENT
from pipelines.systems.registry import SYSTEMS
from tune_spaces.trial_search import OBJECTIVE, TIME, VALUE
from vtr_core.errors import VtrError, one_line
from vtr_core.patience import SWEEP
from vtr_core.storage import Location
from vtr_core.tracking.run import Status
from vtr_core.train.fleet.lease import is_released
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
        changed = number in self._tracking and self._table[number].point != point
        row = self._table.put(number, point, state="running")
        if changed:
            print(f"  trial {row.name}  goes on     from a better one's weights: {settings(point)}", flush=True)
        elif number not in self._tracking:
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
        number, _ = _of(trial)  # population-based training may just have changed its point
        row = self._table[number]
        reports, place = row.reports, [result[TIME], result[OBJECTIVE]]
        if place in reports:  # the final result repeats the last validation
            return
        reports = [*reports, place]
        self._table.change(number, reports=reports, objective=result[OBJECTIVE], step=result["step"])
        print(
            f"  trial {row.name}  epoch {result[TIME]:5.1f}  {self._metric} {result[VALUE]:8.3f}  "
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
        for tracking in list(self._tracking.values()):
            tracking.end("KILLED")
        self._tracking.clear()

    @property
    def _metric(self) -> str:
        return self._record.metric.removeprefix("val/")

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
        again = f"vtr sweep --resume {self._folder.location}"
        child = Child(f"trial-{row.name}", tags, again, self._folder.location.name)
        tracking = Tracking(run, record, config, self._record.provenance, self._uri, child)
        tracking.begin()
        self._tracking[row.number] = tracking

    def _close(self, row: TrialRow) -> None:
        """Close the trial's MLflow run in the background, without blocking the sweep."""
        tracking = self._tracking.pop(row.number, None)
        if tracking is not None:
            thread = threading.Thread(target=self._finish, args=(row, tracking), name="close-trial", daemon=True)
            thread.start()
            self._closing.append(thread)

    def _finish(self, row: TrialRow, tracking: Tracking) -> None:
        """Close the MLflow run once the trial has released its folder."""
        _wait_until_released(self._folder.run(row).location)
        status: Status = "FAILED" if row.state == "failed" else "FINISHED"
        tags = _end_tags(row, self._record)
        if tracking.end(status, tags):
            self._table.change(row.number, logged=True)


def _end_tags(row: TrialRow, record: SweepRecord) -> Mapping[str, str]:
    match row.state:
        case "stopped":
            return {"stopped_early": record.scheduler}
        case "failed":
            return {"reason": row.reason}
        case "finished" if record.scheduler == "pbt":
            return {"settings_at_end": settings(row.point)}  # the run's parameters are those of the trial's start
        case _:
            return {}


def _of(trial: Trial) -> tuple[int, dict[str, Any]]:
    return trial.config["trial"]["number"], dict(trial.config["trial"]["point"])


def _reason(trial: Trial) -> str:
    """The last line of Tune's error message for a trial whose process ended."""
    file = Path(trial.error_file) if trial.error_file else None
    lines = file.read_text(errors="replace").split("\n") if file is not None and file.exists() else []
    said = [line.strip() for line in lines if line.strip()]
    return one_line(said[-1]) if said else "its process ended"


def _wait_until_released(run: Location) -> None:
    deadline = time.monotonic() + SWEEP.seconds()
    while not is_released(run) and time.monotonic() < deadline:
        time.sleep(0.5)
