"""Start and resumption of a sweep, with the parent MLflow run of its trials."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pipelines.arguments import check_counts
from pipelines.ray_session import connect
from pipelines.sweep.command import SweepFlags
from pipelines.sweep.folder import SweepFolder, SweepRecord, TrialTable, space_of
from pipelines.sweep.outcome import conclude
from pipelines.sweep.parent_run import close_parent, open_parent
from pipelines.sweep.trials import SweepTrials
from pipelines.sweep.tune_trials import concurrent_trials, require_population, run_trials
from pipelines.systems.registry import SYSTEMS
from tune_spaces.spaces import build_space, check_space, require_equal_shapes
from vtr_core import storage
from vtr_core.config.data_sets import weighted
from vtr_core.config.override import override
from vtr_core.config.search_space import SearchKind, planned_points
from vtr_core.data.manifest import Manifest, training_sets
from vtr_core.data.plan import Plan
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import require_features, usable_concepts, usable_data, with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import Location, check_writable, locate
from vtr_core.tracking.environment import provenance
from vtr_core.tracking.other_trackers import require_trackers
from vtr_core.tracking.presentation import redact
from vtr_core.tracking.run import Status, default_tracking_uri, full_tracking_uri
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.job import total_steps


def sweep(name: str, flags: SweepFlags, changes: Mapping[str, Any]) -> Location:
    """Start a new sweep; returns its folder."""
    search = _search(flags)
    require_trackers(flags.also)
    config = override(preset(build_space(name, SYSTEMS).preset), changes)
    data, validation = _data_sets(flags, config)
    base = with_inputs(config, data)
    require_features(base, data)
    space = build_space(name, SYSTEMS).only(flags.only).fixed(list(changes), base)
    _check_length(base, data)
    check_space(space, base)
    if flags.scheduler == "pbt":
        require_equal_shapes(space, base)
    concepts = usable_concepts(base, data, flags.data, flags.concepts)
    planned_points(space, search, flags.num_samples, flags.search_seed)
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
        scheduler=flags.scheduler,
        search=search,
        search_seed=flags.search_seed,
        max_concurrent=flags.max_concurrent,
        tracking_uri=redact(default_tracking_uri()),
        experiment=flags.experiment,
        started=time.time(),
        provenance=provenance(),
        concepts=concepts,
        also=list(flags.also),
    )
    _connect(base, record, flags.worker_logs)
    with Lease.take(folder.location):
        folder.claim(record, base)
        _run(folder, record, base)
    return folder.location


def resume(uri: str, worker_logs: bool = False) -> Location:
    """Resume the sweep at `uri`: ended trials are kept, others continue from their newest checkpoints; its folder."""
    folder = SweepFolder(locate(uri))
    check_writable(folder.location)
    folder.read(SYSTEMS)
    with Lease.take(folder.location):
        record, base = folder.read(SYSTEMS)
        require_trackers(record.also)
        if usable_data(base.model, record.data, base.on_bad_shard).fingerprint != record.data_fingerprint:
            raise DatasetError(f"{record.data} has changed since the sweep began; restore it, or start a new sweep")
        _connect(base, record, worker_logs)
        _run(folder, record, base)
    return folder.location


def _search(flags: SweepFlags) -> SearchKind:
    check_counts("vtr sweep", num_samples=flags.num_samples, max_concurrent=flags.max_concurrent)
    if flags.scheduler == "pbt" and flags.search == "optuna":
        raise ConfigError(
            "--scheduler pbt changes settings while trials run, which --search optuna cannot learn from; "
            "use --search random"
        )
    if flags.scheduler == "pbt" and min(flags.num_samples, flags.max_concurrent or 2) < 2:
        raise ConfigError(
            "--scheduler pbt needs a population that trains at the same time: --num-samples and --max-concurrent of 2 "
            "or more"
        )
    return flags.search or ("random" if flags.scheduler == "pbt" else "optuna")


def _data_sets(flags: SweepFlags, config: TrainConfig) -> tuple[Manifest, Manifest]:
    """The training set and the (required) validation set."""
    training, validation = training_sets(weighted(flags.data, flags.data_weights), flags.validation)
    data = usable_data(config.model, training, config.on_bad_shard)
    if validation is None:
        raise DatasetError(
            f"{flags.data} has no validation split, by which trials are compared; give one with --validation URI"
        )
    return data, usable_data(config.model, validation)


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
    connect(config.scaling.cpus * (record.max_concurrent or (2 if record.scheduler == "pbt" else 1)), worker_logs)
    require_population(record.scheduler, concurrent_trials(config, record.max_concurrent))


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
        outcome = conclude(folder, record, base, space, table, uri)
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        print(f"go on       vtr sweep --resume {folder.location}")
        raise
    finally:
        parent = parent or open_parent(folder, record, varied, uri)
        if parent is None:
            print(f"MLflow lacks the sweep; vtr sweep --resume {folder.location} sends it once the store is back")
        else:
            folder.write(replace(record, mlflow_run_id=parent.run_id))
            close_parent(parent, status, outcome, _children(folder, table))
            print(f"MLflow run  {parent.run_id} in {parent.store}")


def _children(folder: SweepFolder, table: TrialTable) -> list[str]:
    """The ids of the trials' MLflow runs."""
    places = [folder.run(row).location / "run.json" for row in table.rows]
    ids = [storage.read_json(place).get("mlflow_run_id") for place in places if storage.exists(place)]
    return [run_id for run_id in ids if run_id is not None]
