"""What a command finds out about a checkpoint as a run of the experiment, below the run that made the checkpoint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.tracking.run import TrackedRun
    from vtr_core.train.checkpoint import LoadedModel


@dataclass(frozen=True)
class EvaluatedSet:
    """A data set and its figures by full metric name."""

    manifest: "Manifest"
    metrics: Mapping[str, float]


def log_run(experiment: str, stage: str, loaded: "LoadedModel", write: "Callable[[TrackedRun], None]") -> None:
    """Open a run of `stage`, let `write` fill it, and say where it is.

    A store that cannot be reached costs the log, not what was found out.
    """
    from vtr_core.tracking.provenance import provenance
    from vtr_core.tracking.redaction import redact
    from vtr_core.tracking.run import Failure, default_tracking_uri, open_run

    parent = loaded.provenance.get("mlflow.run_id")
    tags = {**provenance(), "stage": stage, "checkpoint": loaded.uri, "preset": loaded.config.preset}
    if parent:
        tags["mlflow.parentRunId"] = parent
    tracked = open_run(default_tracking_uri(), experiment, f"{stage}-{loaded.config.preset}", tags)
    if tracked is None:
        return
    try:
        write(tracked)
        tracked.finish("FINISHED")
        print(f"MLflow run  {tracked.run_id} in {tracked.store}")
    except Failure as error:
        print(f"MLflow did not take it: {redact(str(error))}")


def log_evaluation(
    experiment: str,
    loaded: "LoadedModel",
    sets: Sequence[EvaluatedSet],
    settings: Mapping[str, object],
    report: Mapping[str, object],
) -> None:
    """Log settings, data sets, metrics at the checkpoint's step, and `report` as evaluation.json."""
    import time

    now = int(time.time() * 1000)

    def write(tracked: "TrackedRun") -> None:
        tracked.log_params({"checkpoint": loaded.uri, "data": [one.manifest.uri for one in sets], **settings})
        for one in sets:
            tracked.log_input(one.manifest, "testing")
            tracked.log_metrics(dict(one.metrics), loaded.progress.step, now)
        tracked.log_json("evaluation.json", dict(report))

    log_run(experiment, "evaluate", loaded, write)
