"""A training run as an MLflow run: opened and closed here, in the driver."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

from vtr_core.config.train import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.fingerprint import fingerprint, short
from vtr_core.storage import Location
from vtr_core.tracking.flatten import flatten
from vtr_core.tracking.run import Failure, Status, TrackedRun, open_run, reopen_run, run_name
from vtr_core.train.run_folder import RunFolder, RunRecord


@contextmanager
def tracked_run(
    folder: RunFolder, record: RunRecord, config: TrainConfig, origin: Mapping[str, str]
) -> Iterator[TrackedRun | None]:
    """The run's MLflow run, new or, for a resumed run, the same again; None where MLflow cannot be reached.

    It ends FINISHED, FAILED after an error, or KILLED after an interrupt.
    """
    tracked = _open(folder, record, config, origin)
    status: Status = "FAILED"
    try:
        yield tracked
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        if tracked is not None:
            with suppress(*Failure):
                tracked.finish(status)


def _open(folder: RunFolder, record: RunRecord, config: TrainConfig, origin: Mapping[str, str]) -> TrackedRun | None:
    if record.mlflow_run_id is not None:
        return reopen_run(record.tracking_uri, record.experiment, record.mlflow_run_id)
    values = config.model_dump(mode="json")
    mark = fingerprint(values)
    tags = {
        **origin,
        "stage": "train",
        "preset": config.preset,
        "config.fingerprint": short(mark),
        "data.fingerprint": short(record.data_fingerprint),
        "workers": str(config.scaling.workers),
        "run.folder": folder.location.uri,
    }
    tracked = open_run(record.tracking_uri, record.experiment, run_name(config.preset, mark), tags)
    if tracked is None:
        return None
    folder.write_record(replace(record, mlflow_run_id=tracked.run_id))
    with suppress(*Failure):
        tracked.log_params(flatten(values))
        tracked.log_input(Manifest.load(record.data), "training")
        if record.validation is not None:
            tracked.log_input(Manifest.load(record.validation), "validation")
        tracked.log_json("config.json", values)
    return tracked


def log_best_checkpoint(
    tracked: TrackedRun, config: TrainConfig, checkpoint: Location, validations: Mapping[int, Mapping[str, float]]
) -> None:
    """Name the run's best checkpoint as its logged model, with the validation figures of its step."""
    step = int(checkpoint.name.removeprefix("step-"))
    with suppress(*Failure):
        tracked.log_checkpoint(config.preset, checkpoint.uri, validations.get(step, {}), step)
