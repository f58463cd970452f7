"""The trainings of a table side by side under Ray Tune, as many as the cluster has room for."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ray import tune
from ray.tune import Callback
from ray.tune.experiment import Trial as TuneTrial

from pipelines.ray_session import connect
from pipelines.sweep.tune_trials import TrialTrainable, concurrent_trials, fit_trials, trial_bundle
from pipelines.systems.registry import SYSTEMS
from pipelines.train.command import TrainFlags, plan_run
from tune_spaces.trial_search import TIME, VALUE
from vtr_core import storage
from vtr_core.errors import ConfigError, Interrupted, TrainingError
from vtr_core.run.config import TrainConfig
from vtr_core.storage import Location, locate
from vtr_core.tracking.environment import provenance
from vtr_core.tracking.run import full_tracking_uri
from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.tracked import Child, Tracking
from vtr_core.train.trainer import uses_gpu
from vtr_core.train.trial import Trial


@dataclass(frozen=True)
class RowRun:
    """A training of a table: what it is called, its configuration, and where it lies."""

    name: str
    config: TrainConfig
    flags: TrainFlags

    @property
    def folder(self) -> str:
        """The run folder."""
        assert self.flags.out is not None
        return self.flags.out


class RowTrainable(TrialTrainable):
    """A training of a table as Tune's actor. config: "takes", the actor's resources; "origin", where the code comes
    from; "systems", those of the driver; "trial", its number and its run folder, which exists.
    """

    def _begin(self, config: dict[str, Any]) -> None:
        self._trial = Trial(RunFolder.at(config["trial"]["run"]), config["origin"], config["systems"])


def train_side_by_side(rows: Sequence[RowRun], most: int, scratch: Location) -> dict[str, str]:
    """Train rows to their ends, at most `most` at a time, and return the checkpoint of each by its run folder.

    Interrupted runs go on from their newest checkpoints. All are checked before any is begun. Raises ConfigError
    without validation data, whose figures tell Tune how far a training is; Interrupted after Ctrl-C or SIGTERM, and
    TrainingError, naming them, where trainings failed, once the others have ended: the same command then goes on.
    """
    new = [plan_run(row.config, row.flags) for row in rows if not _is_begun(row)]
    if any(planned.record.validation is None for planned in new):
        raise ConfigError(
            "trainings side by side report their validations: give --validation, or leave out --max-concurrent"
        )
    connect(max(row.config.scaling.cpus for row in rows) * most)
    at_once = min(concurrent_trials(row.config, most) for row in rows)
    for planned in new:
        with Lease.take(planned.folder.location):
            planned.folder.claim(planned.record, planned.config)
    print(f"{len(rows)} trainings, {at_once} at once", flush=True)
    progress = _Progress(rows)
    config = rows[0].config
    points = [{"number": number, "run": locate(row.folder).uri} for number, row in enumerate(rows)]
    shared = {"takes": trial_bundle(config.scaling, uses_gpu(config)), "origin": provenance(), "systems": SYSTEMS}
    try:
        received = fit_trials(RowTrainable, {**shared, "trial": tune.grid_search(points)}, at_once, scratch, progress)
    finally:
        progress.end()
    if received or len(progress.ended) < len(rows):
        raise Interrupted(received[0] if received else signal.SIGINT)
    failed = [f"{rows[number].folder} ({reason})" for number, reason in progress.ended.items() if reason]
    if failed:
        raise TrainingError(f"trainings failed: {'; '.join(failed)}")
    return {row.folder: find_checkpoint(locate(row.folder)).uri for row in rows}


def _is_begun(row: RowRun) -> bool:
    return storage.exists(locate(row.folder) / "run.json")


class _Progress(Callback):
    """Prints how far the trainings are, and holds their MLflow runs, which are closed at the end."""

    def __init__(self, rows: Sequence[RowRun]) -> None:
        self._rows = rows
        self._tracking: dict[int, Tracking] = {}
        self.ended: dict[int, str] = {}
        """By number, why a training failed; empty where it did not."""

    def __getstate__(self) -> dict[str, Any]:
        """Empty state: Tune pickles callbacks for its restoration, which is not used."""
        return {}

    def on_trial_start(self, trial: TuneTrial, **info: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Open the training's MLflow run."""
        number, row = self._of(trial)
        folder = RunFolder.at(row.folder)
        record, config = folder.read(SYSTEMS)
        child = Child(row.name, {}, f"vtr train --resume {row.folder}")
        tracking = Tracking(folder, record, config, provenance(), full_tracking_uri(record.tracking_uri), child)
        tracking.begin()
        self._tracking[number] = tracking
        print(f"  {row.name}  starts", flush=True)

    def on_trial_result(  # type: ignore[override]
        self,
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,  # noqa: ARG002
    ) -> None:
        """Print a validation."""
        if "failed" not in result:
            _, row = self._of(trial)
            print(
                f"  {row.name}  epoch {result[TIME]:5.1f}  {row.config.training.metric} {result[VALUE]:8.3f}",
                flush=True,
            )

    def on_trial_complete(self, trial: TuneTrial, **info: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Record the end of a training."""
        number, row = self._of(trial)
        result = trial.last_result
        self.ended[number] = str(result.get("failed", ""))
        print(f"  {row.name}  {'failed: ' + self.ended[number] if self.ended[number] else 'finished'}", flush=True)

    def on_trial_error(self, trial: TuneTrial, **info: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Record a training whose process was lost."""
        number, row = self._of(trial)
        self.ended[number] = "its process ended"
        print(f"  {row.name}  failed: its process ended", flush=True)

    def end(self) -> None:
        """Send what MLflow lacks, and close the runs."""
        for number, tracking in self._tracking.items():
            reason = self.ended.get(number)
            tracking.end("KILLED" if reason is None else "FAILED" if reason else "FINISHED")

    def _of(self, trial: TuneTrial) -> tuple[int, RowRun]:
        number = int(trial.config["trial"]["number"])
        return number, self._rows[number]
