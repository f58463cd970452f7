"""An MLflow run: opened, found, closed, and how it is shown."""

import getpass
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from vtr_core.data.manifest import Manifest
from vtr_core.fingerprint import short
from vtr_core.redaction import redact
from vtr_core.tracking.store import open_client, sqlite_file, trouble

if TYPE_CHECKING:
    from mlflow import MlflowClient


NOTE = "mlflow.note.content"
"""The tag that a run's page shows as its description."""


def page_tags(origin: Mapping[str, str], command: str, note: str) -> dict[str, str]:
    """Tags of a run: its code's origin, who made it with which command, and `note`, a description in Markdown.

    Versions and machine are left out of `origin`'s tags: environment.json has them, and every tag is a column.
    """
    shown = {name: value for name, value in origin.items() if name != "machine" and not name.startswith("version.")}
    tags = {
        "mlflow.user": _user(),
        "mlflow.source.name": command,
        "mlflow.source.type": "JOB" if "ray.submission_id" in origin else "LOCAL",
        "mlflow.source.git.commit": origin.get("git.commit", ""),
        "mlflow.source.git.branch": origin.get("git.branch", ""),
        NOTE: note,
    }
    return {**shown, **{name: value for name, value in tags.items() if value}}


def code(text: str) -> str:
    """`text` as inline code in Markdown, with any characters in it."""
    return f"`{' '.join(text.replace('`', ' ').split())}`"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: the first column to the left, the others to the right."""
    lines = [heads, ["---", *(["---:"] * (len(heads) - 1))], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines) + "\n"


def figures_table(figures: Mapping[str, float]) -> str:
    """Validation figures, `val/t2v/r1` to value, as a table in Markdown; empty where there are none."""
    rows = [[name.removeprefix("val/"), f"{value:.4g}"] for name, value in sorted(figures.items())]
    return markdown_table(["validation", "value"], rows) if rows else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return ""


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} as {"a.b": 1}; lists and empty mappings are kept as values."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


logger = logging.getLogger(__name__)
Status = Literal["FINISHED", "FAILED", "KILLED"]
_PARAMS_AT_ONCE = 100


@dataclass(frozen=True)
class Point:
    """One value of one metric."""

    name: str
    value: float
    step: int
    time_ms: int


@dataclass(frozen=True)
class TrackedRun:
    """A run in the store at `tracking_uri`, which may contain a password: messages show `store`."""

    tracking_uri: str = field(repr=False)
    experiment: str
    run_id: str

    @property
    def store(self) -> str:
        """The store's URI without secrets."""
        return redact(self.tracking_uri)

    @property
    def client(self) -> "MlflowClient":
        """A client of the run's store."""
        return open_client(self.tracking_uri)

    def log_metrics(self, metrics: Mapping[str, float], step: int, timestamp_ms: int) -> None:
        """Write metric values of one step."""
        self.log_points([Point(name, value, step, timestamp_ms) for name, value in metrics.items()])

    def log_points(self, points: Sequence[Point]) -> None:
        """Write up to 1,000 values; values that are there already are not duplicated."""
        from mlflow.entities import Metric

        values = [Metric(point.name, float(point.value), point.time_ms, point.step) for point in points]
        self.client.log_batch(self.run_id, metrics=values)

    def steps(self, name: str) -> set[int]:
        """The steps at which the run has a value of the metric `name`."""
        return {metric.step for metric in self.client.get_metric_history(self.run_id, name)}

    def has_inputs(self) -> bool:
        """Whether a data set was named as the run's training input."""
        inputs = self.client.get_run(self.run_id).inputs
        return inputs is not None and any(
            tag.value == "training" for data_set in inputs.dataset_inputs for tag in data_set.tags
        )

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Write parameters, flat names to values."""
        from mlflow.entities import Param

        entries = [Param(name, redact(str(value))[:6000]) for name, value in params.items()]
        for first in range(0, len(entries), _PARAMS_AT_ONCE):
            self.client.log_batch(self.run_id, params=entries[first : first + _PARAMS_AT_ONCE])

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Set tags."""
        from mlflow.entities import RunTag

        self.client.log_batch(self.run_id, tags=[RunTag(name, redact(str(value))) for name, value in tags.items()])

    def log_input(self, manifest: Manifest, context: str) -> None:
        """Log a data set as the run's input, by its fingerprint."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        uri = redact(manifest.uri)
        name = uri.rstrip("/").rsplit("/", 1)[-1]
        profile = json.dumps({"rows": manifest.rows, "videos": manifest.videos})
        dataset = Dataset(name, manifest.fingerprint[:32], "vtr", json.dumps({"uri": uri}), profile=profile)
        self.client.log_inputs(self.run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

    def log_json(self, name: str, value: Any) -> None:
        """Log `value` as a JSON artifact."""
        self.client.log_dict(self.run_id, value, name)

    def log_text(self, name: str, text: str) -> None:
        """Log `text` as an artifact."""
        self.client.log_text(self.run_id, text, name)

    def log_figure(self, name: str, figure: Any) -> None:
        """Log a matplotlib figure as an artifact, in the format of the name's extension."""
        self.client.log_figure(self.run_id, figure, name)

    def log_checkpoint(self, name: str, uri: str, points: Sequence[Point], step: int) -> None:
        """Log a checkpoint as a logged model of the run, by its URI, unless it is one; `points` are its metrics."""
        if self._logged_model(uri) is not None:
            return
        client, model_id = self.client, self.logged_model(name, uri, step)
        for point in points:
            client.log_metric(self.run_id, point.name, point.value, point.time_ms, point.step, model_id=model_id)

    def logged_model(self, name: str, uri: str, step: int | None = None) -> str:
        """The id of the run's logged model for the checkpoint at `uri`, created if necessary."""
        from mlflow.entities import LoggedModelOutput, LoggedModelStatus

        model_id = self._logged_model(uri)
        if model_id is not None:
            return model_id
        client, tags = self.client, {"uri": redact(uri), "mlflow.model.isExternal": "true"}
        if step is not None:
            tags["step"] = str(step)
        experiment_id = client.get_run(self.run_id).info.experiment_id
        model = client.create_logged_model(experiment_id, name, self.run_id, tags=tags)
        client.log_outputs(self.run_id, [LoggedModelOutput(model.model_id, step or 0)])
        client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        return str(model.model_id)

    def _logged_model(self, uri: str) -> str | None:
        client = self.client
        experiment_id = client.get_run(self.run_id).info.experiment_id
        logged = client.search_logged_models([experiment_id], f"source_run_id = '{self.run_id}'")
        return next((str(model.model_id) for model in logged if model.tags.get("uri") == redact(uri)), None)

    def finish(self, status: Status) -> None:
        """Close the run."""
        self.client.set_terminated(self.run_id, status)


def open_run(
    tracking_uri: str, experiment: str, name: str, tags: Mapping[str, str], start_ms: int | None = None
) -> TrackedRun | None:
    """A new running run; None, with a warning, where the store cannot be reached: tracking never stops training."""
    try:
        client = open_client(tracking_uri)
        shown = {name: redact(value) for name, value in tags.items()}
        run = client.create_run(_experiment(client, tracking_uri, experiment), start_ms, shown, name)
    except Exception as error:
        _warn(tracking_uri, error)
        return None
    return TrackedRun(tracking_uri, experiment, run.info.run_id)


def reopen_run(tracking_uri: str, experiment: str, run_id: str) -> TrackedRun | None:
    """An earlier run, set to running again; None, with a warning, where it cannot be reached."""
    try:
        open_client(tracking_uri).update_run(run_id, status="RUNNING")
    except Exception as error:
        _warn(tracking_uri, error)
        return None
    return TrackedRun(tracking_uri, experiment, run_id)


@contextmanager
def quietly(run: TrackedRun) -> Iterator[None]:
    """What is written to the run within: an unreachable store costs the log, with a warning, and nothing else."""
    try:
        yield
    except Exception as error:
        _warn(run.tracking_uri, error)


def _warn(tracking_uri: str, error: Exception) -> None:
    _warn_once(redact(tracking_uri), trouble(error))


@cache
def _warn_once(store: str, reason: str) -> None:
    """A store is asked again and again, and says the same."""
    logger.warning("MLflow at %s cannot be used (%s)", store, reason)


def _experiment(client: "MlflowClient", tracking_uri: str, name: str) -> str:
    """The id of the experiment `name`, made where it does not exist; a SQLite store keeps artifacts beside its file."""
    from mlflow.exceptions import MlflowException

    file = sqlite_file(tracking_uri)
    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return experiment.experiment_id
    try:
        artifacts = None if file is None else str(file.parent / "mlartifacts").replace("%", "%25")  # it is unquoted
        return client.create_experiment(name, artifact_location=artifacts, tags=_EXPERIMENT)
    except MlflowException:
        experiment = client.get_experiment_by_name(name)  # another process may have made it meanwhile
        if experiment is None:
            raise
        return experiment.experiment_id


_EXPERIMENT = {
    "mlflow.experimentKind": "custom_model_development",  # pages for training, not for language-model traces
    "mlflow.note.content": "Runs of `vtr`: trainings and sweeps, with their trials and evaluations below them. Charts "
    "group by the first part of a metric's name: `train/`, `val/`, `test/<data set>/`, `system/`.",
}


def run_name(preset: str, config_fingerprint: str) -> str:
    """A run's name: short fingerprint of the configuration, preset.

    MLflow's tables cut long names, so the part that distinguishes two runs of a preset comes first.
    """
    return f"{short(config_fingerprint)}-{preset}"
