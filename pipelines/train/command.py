"""`vtr train <preset> --data URI [--a.b value]`: train on any number of Ray workers; `--resume RUN` resumes."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipelines.arguments import (
    json_alone,
    parse,
    parse_with_changes,
    print_json,
    wants_help,
    with_joined_data,
)
from pipelines.commands import HELP_WORDS
from pipelines.systems.registry import SYSTEMS
from pipelines.train.preset_help import ALL, as_json, listing, print_preset_help, starters
from vtr_core.config.data_sets import OnBadShard, weighted
from vtr_core.config.override import override
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

if TYPE_CHECKING:
    from pipelines.train.reports import Finished
    from vtr_core.data.manifest import Manifest
    from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
    from vtr_core.train.fleet.lease import Lease

HELP = f"""\
usage: vtr train PRESET --data URI [flags]     train a preset
       vtr train --config FILE --data URI      train the configuration of an earlier run, its config.json
       vtr train --resume RUN                  resume an interrupted run from its newest checkpoint
       vtr train PRESET --help                 the flags, and the preset's most used settings; --help-all: all
       vtr train --list                        all presets by system, as JSON with --json

presets to start with, by the records that they are trained on (vtr ingest --records):
{starters()}
"""


@dataclass(frozen=True)
class DataFlags:
    """The data of a training or a sweep."""

    data: str
    """Training data set, or a folder with the splits train and val; --data A B joins several with the same features and
    the vocabulary of the first."""
    data_weights: tuple[int, ...] = ()
    """How often an epoch passes over each data set of --data A B, as in 2 1 (default: once)."""
    validation: str | None = None
    """Validation data set, which selects the best checkpoint and without which no sweep begins (default: the split val
    beside train, if there is one)."""
    concepts: str | None = None
    """Concept table made by vtr concepts, for models with a concept space (default: the folder concepts in --data)."""


@dataclass(frozen=True)
class TrainFlags(DataFlags):
    """Flags of `vtr train`; settings of the run are given as --a.b value."""

    init: str | None = None
    """Start from the weights of this checkpoint, run or registered model, as far as they fit: fine-tuning."""
    out: str | None = None
    """Run folder or URI, reachable from every node (default: runs/<preset>-<time>)."""
    experiment: str = "vtr"
    """MLflow experiment."""
    register: str | None = None
    """Register the best checkpoint in MLflow under this name, such as vtr-<preset>, with the alias champion."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


@dataclass(frozen=True)
class ListFlags:
    """Flags of `vtr train --list`."""

    list: bool = False
    """Print all presets by system, and train nothing."""
    json: bool = False
    """Print them as JSON."""


@dataclass(frozen=True)
class ResumedFlags:
    """Flags by which a training or a sweep is resumed."""

    resume: str
    """Folder or URI of the run or sweep."""
    data: str | None = None
    """The training set again, where the folder has the URI of a store with settings, which no folder may state."""
    validation: str | None = None
    """The validation set again, likewise."""
    concepts: str | None = None
    """The concept table again, likewise."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""

    @property
    def places(self) -> dict[str, str | None]:
        """The data that is named again, by flag."""
        return {"data": self.data, "validation": self.validation, "concepts": self.concepts}


@dataclass(frozen=True)
class ResumeFlags(ResumedFlags):
    """Flags of `vtr train --resume`."""

    on_bad_shard: OnBadShard | None = None
    """From now on, for row groups that cannot be read or fail their checksum: fail or skip (default: as the run
    began)."""
    register: str | None = None
    """Register the best checkpoint in MLflow under this name, with the alias champion; also for a finished run."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or argv[0] in HELP_WORDS:
        print(HELP, end="")
    elif "--list" in argv:
        print_json(as_json()) if parse(ListFlags, argv, "vtr train --list").json else print(listing())
    elif any(word.partition("=")[0] == "--resume" for word in argv):
        flags = parse(ResumeFlags, argv, "vtr train --resume RUN")
        again = flags.worker_logs, flags.on_bad_shard, flags.register, flags.places
        _print_end(flags.json, lambda: resume(flags.resume, *again))
    else:
        _new(argv)


def _new(argv: Sequence[str]) -> None:
    config, prog, rest = _starting_point(argv)
    if wants_help(rest):
        print_preset_help(prog, TrainFlags, config, ALL in rest)
        return
    flags, changes = parse_with_changes(TrainFlags, with_joined_data(rest), prog, config.model_dump())
    _print_end(flags.json, lambda: train(override(config, changes), flags))


def _print_end(as_json: bool, run: "Callable[[], Finished]") -> None:
    from pipelines.train.reports import print_end

    with json_alone(as_json):
        finished = run()
    print_end(finished, as_json)


def _starting_point(argv: Sequence[str]) -> tuple[TrainConfig, str, Sequence[str]]:
    """The configuration that the command names, its name for messages, and the remaining arguments."""
    flag, equals, value = argv[0].partition("=")
    if flag != "--config":
        return preset(argv[0]), f"vtr train {argv[0]}", argv[1:]
    if not equals and len(argv) < 2:
        raise ConfigError("vtr train --config needs a file")
    from vtr_core import storage
    from vtr_core.storage import locate

    place = locate(value if equals else argv[1])
    if not storage.exists(place):
        raise ConfigError(f"there is no {place}; give the config.json of a run")
    config = SYSTEMS.config(storage.read_json(place), str(place))
    return config, "vtr train --config FILE", argv[1 if equals else 2 :]


@dataclass(frozen=True)
class PlannedRun:
    """A run that nothing speaks against, and of which nothing is written."""

    folder: "RunFolder"
    record: "RunRecord"
    config: TrainConfig
    intention: list[str]
    """What the run will do, in lines."""


def plan_run(config: TrainConfig, flags: TrainFlags) -> PlannedRun:
    """A new run, checked: its data sets, model, memory and folder; RunConflict where the folder is another run's."""
    from pipelines.train.reports import check_name, intention, require_memory
    from vtr_core.data.plan import Plan
    from vtr_core.redaction import redact
    from vtr_core.run.build import check_model, frozen_weights
    from vtr_core.run.inputs import require_features, usable_concepts, with_inputs
    from vtr_core.storage import check_writable
    from vtr_core.tracking.store import default_tracking_uri
    from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord

    check_name(flags.register)
    data, validation = data_sets(flags, config)
    config = with_inputs(config, data)
    require_features(config, data)
    shapes, frozen = check_model(config.model), frozen_weights(config.model)
    require_memory(config, shapes, frozen)
    plan = Plan(data, config.batch, config.seed)
    concepts = usable_concepts(config, data, flags.data, flags.concepts)
    out = flags.out or f"runs/{config.preset}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    folder = RunFolder.at(out)
    check_writable(folder.location)
    folder.require_free()
    record = RunRecord(
        data=data.uri,
        validation=validation.location.uri if validation else None,
        data_fingerprint=data.fingerprint,
        tracking_uri=redact(default_tracking_uri()),
        experiment=flags.experiment,
        started=time.time(),
        concepts=concepts,
        init=None if flags.init is None else _initial_model(flags.init, config, data, concepts),
    )
    return PlannedRun(folder, record, config, intention(config, data, validation, plan, shapes, flags.init, frozen))


def train(config: TrainConfig, flags: TrainFlags) -> "Finished":
    """Start a new run."""
    from vtr_core.train.fleet.lease import Lease

    planned = plan_run(config, flags)
    print("\n".join(planned.intention), flush=True)
    _connect(planned.config, flags.worker_logs)
    with Lease.take(planned.folder.location) as lease:
        planned.folder.claim(planned.record, planned.config)
        return _run(planned.folder, planned.record, planned.config, lease, flags.register)


def resume(
    uri: str,
    worker_logs: bool = False,
    on_bad_shard: OnBadShard | None = None,
    register: str | None = None,
    named: Mapping[str, str | None] | None = None,
) -> "Finished":
    """Resume the run at `uri` from its newest checkpoint, with the same configuration and data.

    named: the places of its data that the user names again, by flag, see `resumed_places`.
    """
    from pipelines.train.reports import check_name
    from vtr_core.errors import DatasetError
    from vtr_core.run.inputs import usable_data
    from vtr_core.storage import check_writable
    from vtr_core.train.checkpoint.run_folder import RunFolder, resumed_places
    from vtr_core.train.fleet.lease import Lease

    check_name(register)
    folder = RunFolder.at(uri)
    check_writable(folder.location)
    folder.read(SYSTEMS)
    with Lease.take(folder.location) as lease:
        record, config = folder.read(SYSTEMS)
        stated = {"data": record.data, "validation": record.validation, "concepts": record.concepts}
        if folder.latest(SYSTEMS) is None:
            stated["init"] = record.init
        record = replace(record, **resumed_places(stated, named or {}, folder.location.uri))
        if on_bad_shard is not None:
            config = override(config, {"on_bad_shard": on_bad_shard})
            folder.write_config(config)
        if usable_data(config.model, record.data, config.on_bad_shard).fingerprint != record.data_fingerprint:
            raise DatasetError(f"{record.data} has changed since the run began; restore it, or start a new run")
        _connect(config, worker_logs)
        return _run(folder, record, config, lease, register)


def _initial_model(uri: str, config: TrainConfig, data: "Manifest", concepts: str | None) -> str:
    """The very checkpoint that `uri` names now, of which some tensors fit; CheckpointError where there is none.

    A run folder's best checkpoint may be another one when the run is resumed.
    """
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.run.inputs import concept_table, model_vocabulary, names_of
    from vtr_core.train.checkpoint.trained_model import read_model
    from vtr_core.train.loop.learner import fitting

    initial = read_model(uri, SYSTEMS)
    words = model_vocabulary(config.model, WordTable.load(data).vocabulary)
    fitting(config, words, names_of(config, concept_table(config, concepts)), initial)
    return initial.uri


def data_sets(flags: DataFlags, config: TrainConfig) -> "tuple[Manifest, Manifest | None]":
    """The training and the validation set of the flags."""
    from vtr_core.data.manifest import training_sets
    from vtr_core.data.reading.evaluated_rows import require_other_subjects
    from vtr_core.run.inputs import usable_data

    training, validation = training_sets(weighted(flags.data, flags.data_weights), flags.validation)
    data = usable_data(config.model, training, config.on_bad_shard)
    judged = usable_data(config.model, validation) if validation else None
    if config.model.system().records(config.model) == "images" and judged is not None:
        require_other_subjects(data, judged, "training and validation")
    return data, judged


def _connect(config: TrainConfig, worker_logs: bool) -> None:
    """Connect to Ray, unless the run is in this process, and check resources, before anything is written."""
    if config.scaling.workers == 0:
        from vtr_core.train.loop.worker import device_here

        device_here(config)
        return
    from pipelines.ray_session import connect
    from vtr_core.train.trainer import check_resources

    connect(config.scaling.cpus, worker_logs)
    check_resources(config)


def _run(
    folder: "RunFolder",
    record: "RunRecord",
    config: TrainConfig,
    lease: "Lease",
    register: str | None,
) -> "Finished":
    """Train within an MLflow run, which ends as FINISHED, FAILED or KILLED."""
    from pipelines.train.reports import Finished, Reports, TimeLeft, counts_line, register_best
    from vtr_core.tracking.environment import provenance
    from vtr_core.tracking.run_log import EventLog
    from vtr_core.tracking.store import full_tracking_uri
    from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint
    from vtr_core.train.job import Job
    from vtr_core.train.loop.worker import fit
    from vtr_core.train.tracked import tracked_run

    origin = provenance()
    events = EventLog(folder.location / "events.jsonl")
    print(f"run     {folder.location}", flush=True)
    with tracked_run(folder, record, config, origin, full_tracking_uri(record.tracking_uri)) as tracking:
        job = Job.of(folder, record, config, SYSTEMS, tracking.for_workers, origin, lease.number)
        with TimeLeft() as left:
            fit(job, left.watching(Reports(events, tracking, lease).take))
    best = find_checkpoint(folder.location)
    registered = None if register is None else register_best(tracking.run, best.uri, register, folder.location.uri)
    return Finished(
        run=folder.location.uri,
        checkpoint=best.uri,
        tracking_uri=record.tracking_uri,
        mlflow_run_id=tracking.run_id,
        faults=counts_line(events.counts),
        registered=registered,
        validation=record.validation or "URI",
        task=config.model.system().evaluation,
    )
