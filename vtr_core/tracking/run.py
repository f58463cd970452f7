"""One MLflow run: opened and closed by the driver, written to by run id from wherever the numbers arise."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from vtr_core.data.manifest import Manifest
from vtr_core.fingerprint import short
from vtr_core.storage import locate

logger = logging.getLogger(__name__)
Status = Literal["FINISHED", "FAILED", "KILLED"]
Failure = (MlflowException, OSError)
"""What MLflow raises when its store cannot be reached."""
_PARAMS_AT_ONCE = 100


@dataclass(frozen=True)
class TrackedRun:
    """A run in the store at `tracking_uri`."""

    tracking_uri: str
    experiment: str
    run_id: str

    @property
    def client(self) -> MlflowClient:
        """A client of the run's store."""
        return MlflowClient(self.tracking_uri)

    def log_metrics(self, metrics: Mapping[str, float], step: int, timestamp_ms: int) -> None:
        """Write metric values of one step."""
        values = [Metric(name, float(value), timestamp_ms, step) for name, value in metrics.items()]
        self.client.log_batch(self.run_id, metrics=values)

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Write parameters, flat names to values."""
        entries = [Param(name, str(value)[:6000]) for name, value in params.items()]
        for first in range(0, len(entries), _PARAMS_AT_ONCE):
            self.client.log_batch(self.run_id, params=entries[first : first + _PARAMS_AT_ONCE])

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Set tags."""
        self.client.log_batch(self.run_id, tags=[RunTag(name, str(value)) for name, value in tags.items()])

    def log_input(self, manifest: Manifest, context: str) -> None:
        """Name a data set as the run's input, by its fingerprint."""
        name = manifest.uri.rstrip("/").rsplit("/", 1)[-1]
        profile = f'{{"rows": {manifest.rows}, "videos": {manifest.videos}}}'
        dataset = Dataset(name, manifest.fingerprint[:32], "vtr", f'{{"uri": "{manifest.uri}"}}', profile=profile)
        self.client.log_inputs(self.run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

    def log_json(self, name: str, value: Any) -> None:
        """Keep `value` as a JSON artifact."""
        self.client.log_dict(self.run_id, value, name)

    def log_checkpoint(self, name: str, uri: str, metrics: Mapping[str, float], step: int) -> None:
        """Name a checkpoint as a logged model of the run, by its URI."""
        mlflow.set_tracking_uri(self.tracking_uri)
        experiment_id = self.client.get_run(self.run_id).info.experiment_id
        model = mlflow.create_external_model(
            name=name, source_run_id=self.run_id, tags={"uri": uri, "step": str(step)}, experiment_id=experiment_id
        )
        now = int(time.time() * 1000)
        for metric, value in metrics.items():
            self.client.log_metric(self.run_id, metric, value, now, step, model_id=model.model_id)

    def finish(self, status: Status) -> None:
        """Close the run."""
        self.client.set_terminated(self.run_id, status)


def default_tracking_uri() -> str:
    """`MLFLOW_TRACKING_URI`, or the SQLite file `mlflow.db` in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{os.path.abspath('mlflow.db')}"


def open_run(tracking_uri: str, experiment: str, name: str, tags: Mapping[str, str]) -> TrackedRun | None:
    """A new running run; None, with a warning, where the store cannot be reached: tracking never stops training."""
    _quiet()
    try:
        client = MlflowClient(tracking_uri)
        run = client.create_run(_experiment(client, tracking_uri, experiment), run_name=name, tags=dict(tags))
    except Failure as error:
        logger.warning("MLflow at %s cannot be used (%s); metrics go to metrics.jsonl only", tracking_uri, error)
        return None
    return TrackedRun(tracking_uri, experiment, run.info.run_id)


def reopen_run(tracking_uri: str, experiment: str, run_id: str) -> TrackedRun | None:
    """An earlier run, set to running again; None, with a warning, where it cannot be reached."""
    _quiet()
    try:
        MlflowClient(tracking_uri).update_run(run_id, status="RUNNING")
    except Failure as error:
        logger.warning("the MLflow run %s cannot be reached (%s); metrics go to metrics.jsonl only", run_id, error)
        return None
    return TrackedRun(tracking_uri, experiment, run_id)


def _experiment(client: MlflowClient, tracking_uri: str, name: str) -> str:
    """The id of the experiment `name`, made where it does not exist; a SQLite store keeps artifacts beside its file."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return found.experiment_id
    artifacts = None
    if tracking_uri.startswith("sqlite:///"):
        artifacts = locate(os.path.dirname(tracking_uri.removeprefix("sqlite:///"))) / "mlartifacts"
    return client.create_experiment(name, artifact_location=artifacts.uri if artifacts else None)


def _quiet() -> None:
    """The store's migrations are not news."""
    for name in ("alembic", "mlflow.store.db.utils", "mlflow.tracking"):
        logging.getLogger(name).setLevel(logging.WARNING)


def run_name(preset: str, config_fingerprint: str) -> str:
    """A name that says what ran: preset and short fingerprint of the configuration."""
    return f"{preset}-{short(config_fingerprint)}"
