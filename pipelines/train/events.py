"""Events of a training run as lines of text, its result and the lines that end it, and its registered model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pipelines.arguments import print_json

if TYPE_CHECKING:
    from vtr_core.tracking.run import TrackedRun


_COUNTED = {
    "restarted": "restarts",
    "worker_lost": "lost workers",
    "bad_shard": "bad row groups",
    "not_finite": "skipped steps",
    "checkpoint_failed": "failed checkpoints",
}
"""Events that are summed up at the end of a run, in the order of the summary."""
_ABOVE = 1.05
"""A loss of more than so many times that of equal vectors comes from large similarities, not from equal ones."""


def event_line(event: str, details: Mapping[str, Any]) -> str:
    """The description of an event in one line."""
    match event:
        case "started":
            return f"started with {_workers(details)}"
        case "reading":
            return f"workers are started; data is read on {details['on']}"
        case "initialised":
            return f"weights of {details['model']}: {details['tensors']}"
        case "resumed":
            again = details["steps_lost"]
            lost = f"{again} step{'s' if again != 1 else ''} done again" if again else "no step done again"
            return f"resumed at step {details['step']} with {_workers(details)}, {lost}"
        case "restarted":
            return f"starting again from the newest checkpoint: {details['reason']}{_left(details)}"
        case "not_finite":
            where = ", ".join(details["clips"]) or ", ".join(details["places"])
            return f"step {details['step']} skipped, its loss or gradient was not finite; it holds {where}"
        case "bad_shard":
            return f"rows replaced in every batch: {details['reason']}"
        case "checkpoint_failed":
            return f"no checkpoint at step {details['step']}: {details['reason']}"
        case "preempted" | "resized" | "interrupted":
            return f"{event}: ended at step {details['step']}, with a checkpoint"
        case "worker_lost":
            return f"a worker was lost: {details['reason']}"
        case "waiting":
            return f"waiting for nodes with room for {_workers(details)}"
        case "scan":
            return f"selective scans by the {details['backend']}: {details['reason']}"
        case "collapsed":
            return f"step {details['step']}: {details['what']}; {details['cause']}"
        case "at_chance":
            return f"step {details['step']}: the loss{_beside_chance(details['loss'], details['chance'])}"
        case "finished":
            chance = details.get("at_chance")
            loss = details.get("loss")  # earlier versions recorded none
            ended = "" if chance is None or loss is None else f"; the loss{_beside_chance(loss, chance)}"
            return f"finished at step {details['step']}{ended}"
        case _:
            return ", ".join([event.replace("_", " "), *(f"{name} {value}" for name, value in details.items())])


def counts_line(counts: Mapping[str, int]) -> str:
    """The number of faults of each kind in one line; empty where there were none."""
    return ", ".join(f"{counts[event]} {name}" for event, name in _COUNTED.items() if counts.get(event))


def _beside_chance(loss: float, chance: float) -> str:
    """A loss that was never below that of vectors which are all alike: at it, or above by more than a twentieth."""
    alike = f"that of vectors which are all alike ({chance:.4g})"
    if loss <= _ABOVE * chance:
        return f", {loss:.4g}, is {alike}: nothing is learned"
    return f", {loss:.4g}, is above {alike}: similarities are too far apart; go by the validation, and train longer"


def _workers(details: Mapping[str, Any]) -> str:
    number = details["workers"]
    return f"{number} worker{'s' if number != 1 else ''}"


def _left(details: Mapping[str, Any]) -> str:
    left = details.get("restarts_left")
    return "" if left is None else f" ({left} restart{'s' if left != 1 else ''} left)"


@dataclass(frozen=True)
class Finished:
    """The result of a run."""

    run: str
    checkpoint: str
    tracking_uri: str
    """URI with passwords redacted."""
    mlflow_run_id: str | None
    faults: str
    """Counts of faults during the run as text; empty where there were none."""
    registered: str | None = None
    """`models:/NAME/VERSION` of the checkpoint; None where it was not registered."""
    validation: str = "<data set>"
    """The data set that chose the checkpoint."""
    task: str = "retrieval"
    """The task of `vtr evaluate --task` for the model."""


def print_end(finished: Finished, as_json: bool = False) -> None:
    """Print where the checkpoint and the MLflow run are, and what to do next; or the result as JSON."""
    if as_json:
        print_json(asdict(finished))
        return
    print(f"\ncheckpoint  {finished.checkpoint}")
    if finished.faults:
        print(f"faults      {finished.faults}; events.jsonl in {finished.run} has each of them")
    if finished.mlflow_run_id:
        print(f"MLflow run  {finished.mlflow_run_id} in {finished.tracking_uri}")
        if finished.tracking_uri.startswith("sqlite:"):
            print(f"            mlflow ui --backend-store-uri {finished.tracking_uri}")
    task = "" if finished.task == "retrieval" else f" --task {finished.task}"
    print(f"next        vtr evaluate {finished.registered or finished.checkpoint}{task} --data {finished.validation}")


def check_name(name: str | None) -> None:
    """ConfigError unless `name` can name a registered model, where there is one."""
    if name is not None:
        from vtr_core.tracking.models.registry import check_model_name

        check_model_name(name)


def register_best(tracked: "TrackedRun | None", checkpoint: str, name: str, run: str) -> str | None:
    """Register the checkpoint; returns the model's URI, or None, with printed instructions, where MLflow fails."""
    from pipelines.systems.registry import SYSTEMS
    from vtr_core.errors import CheckpointError
    from vtr_core.tracking.models.registry import CHAMPION, register_checkpoint

    try:
        if tracked is None:
            raise CheckpointError("MLflow did not take the run")
        version = register_checkpoint(tracked, checkpoint, name, SYSTEMS)
    except CheckpointError as error:
        print(f"not registered: {error}; vtr train --resume {run} --register {name} tries again")
        return None
    print(f"registered  models:/{name}/{version}, which is {name}@{CHAMPION} now")
    return f"models:/{name}/{version}"
