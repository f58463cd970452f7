"""A training run as an MLflow run: opened and closed here, in the driver; the first worker logs to it by its id.

An unreachable store never stops training. The driver keeps trying to open the run, sends the points of metrics.jsonl
once that works, and checks at the end whether anything is missing, which a later --resume then sends.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from vtr_core import storage
from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError, command_line
from vtr_core.fingerprint import fingerprint, short
from vtr_core.limits import MLFLOW
from vtr_core.tracking.environment import environment
from vtr_core.tracking.run import (
    NOTE,
    Point,
    Status,
    TrackedRun,
    code,
    figures_table,
    flatten,
    open_run,
    page_tags,
    reopen_run,
    run_name,
)
from vtr_core.tracking.run_log import PointSender, read_lines
from vtr_core.tracking.store import import_client, trouble
from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord

logger = logging.getLogger(__name__)
_PAUSES_S = (15.0, 300.0)
"""Seconds between two attempts to open the run: initial and maximal."""
_SEND_EVERY_S = 60.0
_TRIAL_SENDS_EVERY_S = 10.0


@dataclass(frozen=True)
class Child:
    """How a sweep's trial differs from a single run: its name, further tags, and that the driver logs it."""

    name: str
    tags: Mapping[str, str]
    resume: str
    """The command that sends what MLflow lacks."""


@contextmanager
def tracked_run(
    folder: RunFolder, record: RunRecord, config: TrainConfig, origin: Mapping[str, str], tracking_uri: str
) -> Iterator["Tracking"]:
    """The run's MLflow run, new or, for a resumed run, the same again.

    It ends FINISHED, FAILED after an error, or KILLED after an interrupt.
    """
    tracking = Tracking(folder, record, config, origin, tracking_uri)
    tracking.begin()
    status: Status = "FAILED"
    try:
        yield tracking
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        tracking.end(status)


class Tracking:
    """The driver's side of an MLflow run."""

    def __init__(
        self,
        folder: RunFolder,
        record: RunRecord,
        config: TrainConfig,
        origin: Mapping[str, str],
        tracking_uri: str,
        child: Child | None = None,
    ) -> None:
        self._folder, self._record, self._config, self._origin = folder, record, config, origin
        self._uri, self._child = tracking_uri, child
        self.run: TrackedRun | None = None
        """The MLflow run, if it is open by now."""
        self._sender: PointSender | None = None
        self._workers_sent_all = False
        self._tried, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep_trying, name="mlflow", daemon=True)
        self.for_workers: TrackedRun | None = None
        """The run that workers log to; None where it was not open in time, and the driver sends instead."""

    @property
    def run_id(self) -> str | None:
        """The MLflow run's id, if it is open by now."""
        return self._record.mlflow_run_id

    def begin(self) -> None:
        """Open the run, or keep trying while training begins without it.

        A store that refuses is not waited for; one that does not answer is, for VTR_MLFLOW_PATIENCE_S.
        """
        patience_s = MLFLOW.seconds()
        import_client()
        self._thread.start()
        answered = self._tried.wait(patience_s)
        if self._child is not None:
            return
        self.for_workers = self.run
        if self.for_workers is None:
            why = "" if answered else f", which did not answer in {patience_s:g} s ({MLFLOW.variable})"
            logger.warning("training begins without MLflow%s; %s gets every point", why, self._metrics)

    def workers_sent_all(self) -> None:
        """Note that the first worker has sent every point to MLflow."""
        self._workers_sent_all = self.for_workers is not None

    def end(self, status: Status, tags: Mapping[str, str] | None = None) -> bool:
        """Send what is missing, set `tags` and close the run; where that fails, say how to do it later.

        Returns whether it succeeded.
        """
        self._ending.set()
        self._thread.join()
        if self.run is not None or self._open():
            try:
                self._deliver(status, tags or {})
            except Exception as error:  # an MLflow store may raise anything; the trained model must not be lost for it
                logger.warning("MLflow did not take everything: %s", trouble(error))
            else:
                return True
        resume = self._child.resume if self._child else command_line("train", "--resume", self._folder.location)
        logger.warning(
            "%s and events.jsonl beside it hold the whole log; %s sends what MLflow lacks", self._metrics, resume
        )
        return False

    @property
    def _metrics(self) -> storage.Location:
        return self._folder.location / "metrics.jsonl"

    def _keep_trying(self) -> None:
        pause, longest = _PAUSES_S
        while not self._open():
            self._tried.set()
            if self._ending.wait(pause):
                return
            pause = min(longest, 2 * pause)
        self._tried.set()
        while not self._ending.wait(_TRIAL_SENDS_EVERY_S if self._child else _SEND_EVERY_S):
            if self.for_workers is None:
                try:
                    self._send_points()
                except Exception as error:  # tried again after a pause
                    logger.info("MLflow did not take the points yet: %s", trouble(error))

    def _open(self) -> bool:
        """Open and describe the run; whether there is one now."""
        try:
            run = self._opened()
            if run is None:
                return False
            self._describe(run)
        except Exception as error:  # as in `end`
            logger.warning("MLflow did not take the run's settings: %s", trouble(error))
            return False
        self.run = run
        return True

    def _opened(self) -> TrackedRun | None:
        record = self._record
        if record.mlflow_run_id is not None:
            run = reopen_run(self._uri, record.experiment, record.mlflow_run_id)
        else:
            by_itself = run_name(self._config.preset, fingerprint(self._config.model_dump(mode="json")))
            name = self._child.name if self._child else by_itself
            run = open_run(self._uri, record.experiment, name, self._tags(), int(record.started * 1000) or None)
        if run is not None:
            self._record = replace(record, mlflow_run_id=run.run_id)
            self._folder.write_record(self._record)
        return run

    def _tags(self) -> dict[str, str]:
        return {
            **page_tags(self._origin, "vtr train", self._note()),
            "stage": "train",
            "preset": self._config.preset,
            "config.fingerprint": short(fingerprint(self._config.model_dump(mode="json"))),
            "data.fingerprint": short(self._record.data_fingerprint),
            "workers": self._config.scaling.span,
            "run.folder": self._folder.location.uri,
            **(self._child.tags if self._child else {}),
        }

    def _note(self) -> str:
        folder, record = self._folder.location.uri, self._record
        validated = f", validated on {code(record.validation)}" if record.validation else ""
        return (
            f"Training of {code(self._config.preset)} on {code(record.data)}{validated}.\n\n"
            f"- evaluate: {code(command_line('evaluate', folder, '--data', 'URI'))}\n"
            f"- go on: {code(command_line('train', '--resume', folder))}\n"
        )

    def _describe(self, run: TrackedRun) -> None:
        """Log params, configuration, environment, and last the data sets, as a sign that the rest is there."""
        if run.has_inputs():
            return
        values = self._config.model_dump(mode="json")
        run.log_params(flatten(values))
        run.log_json("config.json", values)
        run.log_json("environment.json", environment(self._cluster()))
        if self._record.validation is not None:
            run.log_input(Manifest.load(self._record.validation), "validation")
        run.log_input(Manifest.load(self._record.data), "training")

    def _cluster(self) -> dict[str, float] | None:
        """The resources of the connected Ray cluster; None for a run without Ray."""
        if self._config.scaling.workers == 0:
            return None
        import ray

        return ray.cluster_resources() if ray.is_initialized() else None

    def _deliver(self, status: Status, tags: Mapping[str, str]) -> None:
        assert self.run is not None
        if not self._workers_sent_all:
            self._send_points()
        events = self._folder.location / "events.jsonl"
        if storage.exists(events):
            self.run.log_text("events.jsonl", storage.read_bytes(events).decode())
        if status == "FINISHED":
            self._log_best_checkpoint(self.run)
        if tags:
            self.run.set_tags(tags)
        self.run.finish(status)

    def _send_points(self) -> None:
        assert self.run is not None
        self._sender = self._sender or PointSender(self.run)
        self._sender.send(read_lines(self._metrics))

    def _log_best_checkpoint(self, run: TrackedRun) -> None:
        """Log the best checkpoint as the run's logged model, with its step's metrics, also in the run's description."""
        try:
            best = find_checkpoint(self._folder.location)
        except CheckpointError:
            return
        step = int(best.name.removeprefix("step-"))
        points = [
            Point(name, value, step, int(line["time"] * 1000))
            for line in read_lines(self._metrics)
            if line["step"] == step
            for name, value in line.items()
            if name.startswith("val/")
        ]
        run.log_checkpoint(self._config.preset, best.uri, points, step)
        table = figures_table({point.name: point.value for point in points})
        run.set_tags({NOTE: f"{self._note()}\nThe best checkpoint is {code(best.uri)}, of step {step}:\n\n{table}"})
