"""One trial of a sweep: a training in a thread, whose validations are returned one by one."""

import math
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.errors import RunConflict, TrainingError
from vtr_core.limits import SWEEP
from vtr_core.storage import Location
from vtr_core.systems.system import Systems
from vtr_core.tracking.run_log import EventLog
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.job import Job, Report
from vtr_core.train.loop.worker import fit


@dataclass(frozen=True)
class Standing:
    """The state of a trial after a validation."""

    step: int
    epoch: float
    """Passes over the data, a part of one included."""
    value: float
    """This validation's figure of training.metric, the higher the better."""
    objective: float
    """The best one so far, which is that of the best checkpoint."""
    finished: bool
    """Whether the training came to its own end."""


class Trial:
    """The training of a claimed run folder; it goes on from the folder's newest checkpoint.

    origin: where the code comes from, for the checkpoints. systems: those of the driver.
    """

    def __init__(self, folder: RunFolder, origin: Mapping[str, str], systems: Systems) -> None:
        self.folder, self._systems = folder, systems
        self._origin = dict(origin)
        self._events = EventLog(folder.location / "events.jsonl")
        self._lease = _hold(folder.location)
        self._stopping = threading.Event()
        self._items: queue.Queue[Report | Exception | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._standing: Standing | None = None

    def next(self) -> Standing:
        """Wait for the next validation, or for the end, which repeats the last validation's values.

        Raises the error that training ended with; TrainingError where it ended before its first validation.
        """
        if self._thread is None:
            self._start()
        item = self._items.get()
        if not isinstance(item, dict):
            return self._ended(item)
        standing = self._note(item)
        if item["step"] < item["total_steps"]:
            return standing
        return self._ended(self._end())  # only a checkpoint is left: the end comes with this validation

    def stop(self) -> None:
        """End the training after a checkpoint, and wait until its workers' resources are released."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(SWEEP.seconds())
        self._lease.__exit__()

    def _start(self) -> None:
        record, config = self.folder.read(self._systems)
        self._metric = config.training.metric
        self._steps_per_epoch = Plan(Manifest.load(record.data), config.batch, config.seed).steps_per_epoch
        if self._standing is None:
            self._standing = self._earlier()
        origin = dict(self._origin)
        if record.mlflow_run_id:
            origin |= {"mlflow.run_id": record.mlflow_run_id, "mlflow.tracking_uri": record.tracking_uri}
        job = Job.of(self.folder, record, config, self._systems, None, origin, self._lease.number)
        self._thread = threading.Thread(target=self._run, args=(job,), name="trial", daemon=True)
        self._thread.start()

    def _run(self, job: Job) -> None:
        try:
            fit(job, self._take, self._stopping.is_set)
        except Exception as error:  # raised to the caller of `next`
            self._items.put(error)
        else:
            self._items.put(None)

    def _take(self, report: Report) -> None:
        self._lease.check()
        if "event" in report:
            self._events.add(**report)
        elif self._metric in report:
            self._items.put(report)

    def _end(self) -> Exception | None:
        """Wait for the end; workers that were replaced before the checkpoint was written validate once more."""
        while isinstance(item := self._items.get(), dict):
            self._note(item)
        return item

    def _note(self, report: Mapping[str, Any]) -> Standing:
        step, value = int(report["step"]), float(report[self._metric])
        before = self._standing.objective if self._standing else value
        best = max((figure for figure in (before, value) if not math.isnan(figure)), default=value)
        self._standing = Standing(step, self._epoch(step), value, best, finished=False)
        return self._standing

    def _ended(self, error: Exception | None) -> Standing:
        if error is not None:
            raise error
        if self._standing is None:
            raise TrainingError(
                "the trial ended before its first validation; lower training.validate_every or raise training.epochs"
            )
        return replace(self._standing, finished=not self._stopping.is_set())

    def _earlier(self) -> Standing | None:
        self.folder.tidy()
        file = self.folder.checkpoints / "best.json"
        checkpoint = self.folder.latest(self._systems)
        if checkpoint is None or not storage.exists(file):
            return None
        best = float(storage.read_json(file)["value"])
        step = checkpoint.progress.step
        return Standing(step, self._epoch(step), checkpoint.progress.value or best, best, finished=False)

    def _epoch(self, step: int) -> float:
        return step / self._steps_per_epoch


def _hold(run: Location) -> Lease:
    """The folder's lease; waits where the trial's previous actor, which Tune has stopped, is still releasing it."""
    deadline = time.monotonic() + SWEEP.seconds()
    while True:
        try:
            return Lease.take(run)
        except RunConflict:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
