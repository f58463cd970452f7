"""`vtr train <preset> --data URI [--a.b value]`: train on any number of Ray workers; `--resume RUN` goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse, parse_with_changes, print_help, wants_help
from vtr_core.config.override import override, validate
from vtr_core.config.presets import describe_presets, preset
from vtr_core.config.train import TrainConfig
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.train.run_folder import RunFolder, RunRecord
    from vtr_core.train.worker import Job

HELP = f"""\
usage: vtr train <preset> --data URI [flags]     train from the beginning
       vtr train --config FILE --data URI        the same with the config.json of an earlier run
       vtr train --resume RUN                    go on with an interrupted run from its newest checkpoint
       vtr train <preset> --help                 every setting of a preset

{describe_presets()}
"""


@dataclass(frozen=True)
class TrainFlags:
    """Where a run reads and writes; settings of the run itself are given as --a.b value."""

    data: str
    """Data set to train on, or a folder with the splits train and val."""
    validation: str | None = None
    """Data set that chooses the best checkpoint (default: the split val beside train, if there is one)."""
    out: str | None = None
    """Folder or URI of the run, reachable from every node (default: runs/<preset>-<time>)."""
    experiment: str = "vtr"
    """MLflow experiment."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


@dataclass(frozen=True)
class ResumeFlags:
    """How to go on with a run."""

    resume: str
    """Folder or URI of the run."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


@dataclass(frozen=True)
class Finished:
    """What a run left."""

    run: str
    checkpoint: str
    tracking_uri: str
    mlflow_run_id: str | None


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(HELP, end="")
    elif any(word.partition("=")[0] == "--resume" for word in argv):
        flags = parse(ResumeFlags, argv, "vtr train --resume RUN")
        _print_end(resume(flags.resume, flags.worker_logs))
    else:
        _new(argv)


def _new(argv: Sequence[str]) -> None:
    config, prog, rest = _starting_point(argv)
    if wants_help(rest):
        print_help(prog, TrainFlags, config)
        return
    flags, changes = parse_with_changes(TrainFlags, rest, prog)
    _print_end(train(override(config, changes), flags))


def _starting_point(argv: Sequence[str]) -> tuple[TrainConfig, str, Sequence[str]]:
    """The configuration that the command names, its name for messages, and the remaining words."""
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
    config = validate(TrainConfig, storage.read_json(place))
    return config, "vtr train --config FILE", argv[1 if equals else 2 :]


def train(config: TrainConfig, flags: TrainFlags) -> Finished:
    """A new run."""
    from vtr_core.data.plan import Plan
    from vtr_core.tracking.run import default_tracking_uri
    from vtr_core.train.inputs import with_inputs
    from vtr_core.train.run_folder import RunFolder, RunRecord

    data, validation = _data_sets(flags)
    config = with_inputs(config, data)
    Plan(data, config.batch, config.seed)
    out = flags.out or f"runs/{config.preset}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    folder = RunFolder.at(out)
    record = RunRecord(
        data=data.location.uri,
        validation=validation.location.uri if validation else None,
        data_fingerprint=data.fingerprint,
        tracking_uri=default_tracking_uri(),
        experiment=flags.experiment,
    )
    _connect(config, flags.worker_logs)
    folder.claim(record, config)
    return _run(folder, record, config)


def resume(uri: str, worker_logs: bool = False) -> Finished:
    """Go on with the run at `uri` from its newest checkpoint, with the same configuration and data."""
    from vtr_core.data.checks import usable_clips
    from vtr_core.errors import DatasetError
    from vtr_core.train.run_folder import RunFolder

    folder = RunFolder.at(uri)
    record, config = folder.read()
    if usable_clips(record.data).fingerprint != record.data_fingerprint:
        raise DatasetError(f"{record.data} has changed since the run began; restore it, or start a new run")
    _connect(config, worker_logs)
    return _run(folder, record, config)


def _data_sets(flags: TrainFlags) -> "tuple[Manifest, Manifest | None]":
    """The training and the validation set that the flags name."""
    from vtr_core.data.checks import usable_clips
    from vtr_core.data.manifest import splits

    inner = splits(flags.data)
    data = usable_clips(inner.get("train", flags.data))
    validation = flags.validation or inner.get("val")
    return data, usable_clips(validation) if validation else None


def _connect(config: TrainConfig, worker_logs: bool) -> None:
    """Connect to Ray and make sure that the run fits, before anything is written."""
    from pipelines.ray_session import connect
    from vtr_core.train.trainer import check_resources

    connect(config.scaling.workers * config.scaling.cpus_per_worker + config.scaling.reading_cpus, worker_logs)
    check_resources(config)


def _run(folder: "RunFolder", record: "RunRecord", config: TrainConfig) -> Finished:
    """Train with tracking around it: the MLflow run ends FINISHED, FAILED or KILLED."""
    from vtr_core.tracking.provenance import provenance
    from vtr_core.train.tracked import tracked_run
    from vtr_core.train.trainer import fit
    from vtr_core.train.worker import Job

    origin = provenance()
    with tracked_run(folder, record, config, origin) as tracked:
        print(f"run {folder.location}", flush=True)
        job = Job(config, folder.location.uri, record.data, record.validation, tracked, origin)
        progress = _Progress()
        fit(job, progress.show)
        return _finish(folder, record, tracked, job, progress)


def _finish(folder: "RunFolder", record: "RunRecord", tracked: Any, job: "Job", progress: "_Progress") -> Finished:
    """Name the best checkpoint in MLflow and gather what to print."""
    from vtr_core.train.checkpoint import find_checkpoint
    from vtr_core.train.tracked import log_best_checkpoint

    best = find_checkpoint(folder.location)
    if tracked is not None:
        log_best_checkpoint(tracked, job.config, best, progress.validations)
    return Finished(folder.location.uri, best.uri, record.tracking_uri, tracked.run_id if tracked else None)


class _Progress:
    """Prints one line for each logged point and remembers the validations by their steps."""

    def __init__(self) -> None:
        self.validations: dict[int, dict[str, float]] = {}

    def show(self, report: dict[str, Any]) -> None:
        """Print a report of the workers."""
        place = f"  step {report['step']:>6}/{report['total_steps']}"
        if "train/loss" in report:
            print(
                f"{place}  epoch {report['train/epoch']:5.2f}  loss {report['train/loss']:8.4f}  "
                f"{report['train/samples_per_s']:8.0f} clips/s  waiting for data {report['train/data_wait']:4.0%}",
                flush=True,
            )
        else:
            values = {name: value for name, value in report.items() if name.startswith("val/")}
            self.validations[report["step"]] = values
            shown = "  ".join(f"{name[4:]} {value:.1f}" for name, value in values.items() if _is_shown(name))
            print(f"{place}  validation  {shown}", flush=True)


def _is_shown(name: str) -> bool:
    return name.endswith(("t2v/r1", "t2v/r5", "t2v/r10", "t2v/medr", "t2va/r10"))


def _print_end(finished: Finished) -> None:
    print(f"\ncheckpoint  {finished.checkpoint}")
    if finished.mlflow_run_id:
        print(f"MLflow run  {finished.mlflow_run_id} in {finished.tracking_uri}")
        print(f"            mlflow ui --backend-store-uri {finished.tracking_uri}")
    print(f"next        vtr evaluate {finished.checkpoint} --data <data set> …")


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("train")
