"""The trials of a sweep under Ray Tune, new ones and those of an interrupted driver.

Tune's own restoration is not used: it unpickles files in the sweep's folder, its record lags by seconds, so that trials
are lost or repeated, and it loses ASHA's state. The state of a trial is its run folder, that of the sweep
`trials.json`; Tune gets the unfinished trials.
"""

import signal
from typing import Any

from ray import tune
from ray.tune import Callback

from pipelines.sweep.folder import ENDED, SweepFolder, SweepRecord, TrialTable
from pipelines.sweep.trainable import TrialTrainable, trial_bundle
from pipelines.sweep.tune_trials import fit_trials
from tune_spaces.optuna_points import OptunaPoints
from tune_spaces.points import SchedulerKind, planned_points
from tune_spaces.schedulers import build_scheduler, tell_earlier
from vtr_core.errors import ClusterError, Interrupted
from vtr_core.run.config import TrainConfig
from vtr_core.run.space import Point, Space
from vtr_core.train.fleet.placement import placement, room
from vtr_core.train.trainer import check_resources, uses_gpu


def concurrent_trials(config: TrainConfig, most: int | None) -> int:
    """The number of trials that fit into the connected cluster, at most `most`; ClusterError where none fits."""
    check_resources(config)
    held = room(placement(config.scaling.reading_nodes))
    fit = held.runs(config.scaling, uses_gpu(config))
    fit = max(1, fit)  # an elastic trial starts with the minimum of workers
    return fit if most is None else min(fit, most)


def require_population(scheduler: SchedulerKind, at_once: int) -> None:
    """ClusterError where population-based training has resources for one trial only."""
    if scheduler == "pbt" and at_once < 2:
        raise ClusterError(
            "--scheduler pbt compares trials that train at the same time, and only one fits here; lower "
            "--scaling.workers, or give Ray more CPUs or GPUs"
        )


def run_trials(
    folder: SweepFolder, record: SweepRecord, base: TrainConfig, space: Space, table: TrialTable, callback: Callback
) -> None:
    """Run the unfinished trials; Interrupted after Ctrl-C or SIGTERM."""
    todo = _planned(record, space, table)
    ended = [row for row in table.rows if row.state in ENDED]
    left = record.num_samples - len(ended) if record.search == "optuna" else len(todo)
    if left <= 0:
        return
    scheduler = build_scheduler(
        record.scheduler, space, base.training.validate_every, base.training.epochs, record.search_seed
    )
    tell_earlier(scheduler, [(f"earlier-{row.name}", [(e, v) for e, v in row.reports]) for row in ended])
    config: dict[str, Any] = {"sweep": folder.location.uri, "takes": trial_bundle(base.scaling, uses_gpu(base))}
    search = None
    if record.search == "optuna":
        search = _optuna(record, space, table)
    else:
        config["trial"] = tune.grid_search([{"number": number, "point": dict(point)} for number, point in todo])
    at_once = concurrent_trials(base, record.max_concurrent)
    scratch = folder.location / "tune"
    received = fit_trials(TrialTrainable, config, at_once, scratch, callback, scheduler, search, left)
    if received or any(row.state in ("waiting", "running") for row in table.rows):
        raise Interrupted(received[0] if received else signal.SIGINT)


def _planned(record: SweepRecord, space: Space, table: TrialTable) -> list[tuple[int, Point]]:
    """The numbered points of unfinished trials; new points are entered into the table."""
    if not table.rows:
        for number, point in enumerate(planned_points(space, record.search, record.num_samples, record.search_seed)):
            table.put(number, point)
    return [(row.number, row.point) for row in table.rows if row.state not in ENDED]


def _optuna(record: SweepRecord, space: Space, table: TrialTable) -> OptunaPoints:
    ended = [row for row in table.rows if row.state in ENDED]
    return OptunaPoints(
        space,
        record.search_seed,
        waiting=[(row.number, row.point) for row in table.rows if row.state not in ENDED],
        known=[(row.point, row.objective) for row in ended if row.objective is not None],
        first=1 + max((row.number for row in table.rows), default=-1),
    )
