"""A sweep's trials under Ray Tune as actors, several at once."""

import os
import signal
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ray import tune
from ray.tune import Callback, PlacementGroupFactory, Trainable

from pipelines.sweep.folder import ENDED, SweepFolder, SweepRecord, TrialRow, TrialTable, space_of
from pipelines.systems.registry import SYSTEMS
from tune_spaces.trial_search import OBJECTIVE, TIME, VALUE, OptunaPoints, build_scheduler, tell_earlier
from vtr_core import ray_private, storage
from vtr_core.config.run import ScalingConfig
from vtr_core.config.search_space import Space, grid_points
from vtr_core.errors import Interrupted
from vtr_core.ray_private import HEAD
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import enough_concepts
from vtr_core.storage import Location, locate
from vtr_core.train.checkpoint.run_folder import RunRecord
from vtr_core.train.fleet.placement import placement, room, worker_bundle
from vtr_core.train.fleet.worker_group import first_line
from vtr_core.train.trainer import check_resources, uses_gpu
from vtr_core.train.trial import Standing, Trial

_HEAD = {HEAD: 0.001}
"""A nominal resource, as Tune requires one. It is the head node's, where trials survive the loss of other nodes."""


def trial_bundle(scaling: ScalingConfig, gpu: bool) -> dict[str, float]:
    """The resources of a trial's actor: nominal where it starts workers, else those of one worker."""
    return dict(_HEAD) if scaling.workers else worker_bundle(scaling, gpu)


class TrialTrainable(Trainable):
    """A trial. config: "sweep", the sweep's URI; "systems", those of the driver; "takes", the actor's resources;
    "trial", its number and point.
    """

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> PlacementGroupFactory:
        """The resources of the actor itself."""
        return PlacementGroupFactory([config["takes"]])

    def setup(self, config: dict[str, Any]) -> None:
        """Claim the trial's run folder, or reopen it. Errors are reported as the result of the first step."""
        self._trial: Trial | None = None
        self._fault: Exception | None = None
        try:
            self._begin(config)
        except Exception as error:  # an exception in setup would end the actor without a reason
            self._fault = error

    def _begin(self, config: dict[str, Any]) -> None:
        sweep = SweepFolder(locate(config["sweep"]))
        record, base = sweep.read(config["systems"])
        row = TrialRow(config["trial"]["number"], config["trial"]["point"])
        folder = sweep.run(row)
        trial_config = space_of(record, base, config["systems"]).applied(base, row.point)
        self._trial = Trial(folder, record.provenance, config["systems"])
        if storage.exists(folder.location / "run.json"):
            return
        run = RunRecord(
            data=record.data,
            validation=record.validation,
            data_fingerprint=record.data_fingerprint,
            tracking_uri=record.tracking_uri,
            experiment=record.experiment,
            started=time.time(),
            concepts=record.concepts,
        )
        folder.claim(run, trial_config)

    def step(self) -> dict[str, Any]:
        """Wait for the next validation; returns it as plain numbers, as required by Tune and its schedulers.

        Errors of the training are returned as results too: as exceptions Tune would pickle them.
        """
        try:
            now = self._next()
        except Exception as error:  # any error ends this trial only, not the sweep
            return {"failed": f"{type(error).__name__}: {first_line(error)}", "done": True}
        return {
            TIME: now.epoch,
            OBJECTIVE: now.objective,
            VALUE: now.value,
            "step": now.step,
            "finished": now.finished,
            "done": now.finished,
        }

    def _next(self) -> Standing:
        if self._fault is not None:
            raise self._fault
        assert self._trial is not None
        return self._trial.next()

    def cleanup(self) -> None:
        """End the worker group, before Tune ends this actor."""
        if self._trial is not None:
            self._trial.stop()


_SETTINGS = {
    "RAY_AIR_NEW_OUTPUT": "0",  # no tables of Tune's beside our lines
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a failed trial reports its reason without an objective
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",
    ray_private.SYNC_WARNING: "0",
}


def _tuner(
    config: Mapping[str, Any], tune_config: tune.TuneConfig, scratch: Location, callback: Callback
) -> tune.Tuner:
    """Tune with trials of `config`, or without a search those of its grid; scratch: a folder for what it writes."""
    os.environ.update({name: value for name, value in _SETTINGS.items() if name not in os.environ})
    run_config = tune.RunConfig(
        name=uuid.uuid4().hex,
        storage_path=scratch.uri if scratch.is_local else scratch.path,
        storage_filesystem=None if scratch.is_local else scratch.filesystem,
        failure_config=tune.FailureConfig(max_failures=0),
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # a trial writes its own checkpoints
        callbacks=[callback],
        verbose=0,
    )
    return tune.Tuner(TrialTrainable, param_space=dict(config), tune_config=tune_config, run_config=run_config)


def _name(trial: Any) -> str:
    return f"trial-{trial.config['trial']['number']:03d}"


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Context in which SIGTERM acts on Tune like SIGINT: trials end and Tune returns. Yields the received signals.

    Tune handles SIGINT itself and does not report it to the caller.
    """
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


def concurrent_trials(config: TrainConfig, most: int | None) -> int:
    """The number of trials that fit into the connected cluster, at most `most`; ClusterError where none fits."""
    check_resources(config)
    held = room(placement(config.scaling.reading_nodes))
    fit = held.runs(config.scaling, uses_gpu(config))
    fit = max(1, fit)  # an elastic trial starts with the minimum of workers
    return fit if most is None else min(fit, most)


def run_trials(
    folder: SweepFolder, record: SweepRecord, base: TrainConfig, space: Space, table: TrialTable, callback: Callback
) -> None:
    """Run the unfinished trials; Interrupted after Ctrl-C or SIGTERM."""
    is_grid = record.search == "grid"
    if is_grid and not table.rows:
        for number, point in enumerate(grid_points(space, record.num_samples, enough_concepts(base, record.concepts))):
            table.put(number, point)
    ended = [row for row in table.rows if row.state in ENDED]
    todo = [{"number": row.number, "point": dict(row.point)} for row in table.rows if row.state not in ENDED]
    left = len(todo) if is_grid else record.num_samples - len(ended)
    if left <= 0:
        return
    scheduler = build_scheduler(record.scheduler, base.training.validate_every, base.training.epochs)
    tell_earlier(scheduler, [(f"earlier-{row.name}", [(e, v) for e, v in row.reports]) for row in ended])
    config = {"sweep": folder.location.uri, "systems": SYSTEMS, "takes": trial_bundle(base.scaling, uses_gpu(base))}
    tune_config = tune.TuneConfig(
        scheduler=scheduler,
        search_alg=None if is_grid else _search(record, space, table),
        num_samples=1 if is_grid else left,
        max_concurrent_trials=concurrent_trials(base, record.max_concurrent),
        trial_name_creator=_name,
        trial_dirname_creator=_name,
        reuse_actors=False,
    )
    scratch = folder.location / "tune"
    grid = {"trial": tune.grid_search(todo)} if is_grid else {}
    tuner = _tuner({**config, **grid}, tune_config, scratch, callback)
    ray_private.only_errors(ray_private.TALKATIVE_IN_SWEEPS)
    with _terminable() as received:
        tuner.fit()
    storage.delete_folder(scratch)
    if received or any(row.state in ("waiting", "running") for row in table.rows):
        raise Interrupted(received[0] if received else signal.SIGINT)


def _search(record: SweepRecord, space: Space, table: TrialTable) -> OptunaPoints:
    ended = [row for row in table.rows if row.state in ENDED]
    return OptunaPoints(
        space,
        record.search_seed,
        record.search,
        waiting=[(row.number, row.point) for row in table.rows if row.state not in ENDED],
        known=[(row.point, row.objective) for row in ended if row.objective is not None],
        first=1 + max((row.number for row in table.rows), default=-1),
    )
