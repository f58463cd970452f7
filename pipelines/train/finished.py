"""The result of a training run, and the lines that end it."""

from dataclasses import asdict, dataclass

from pipelines.report.json_result import print_json


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
