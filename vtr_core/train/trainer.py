"""The driver's side of a run: Ray Train's worker group, restarted after faults; the run as Ray's metrics.

Restarts are counted here, as Ray (2.60) counts them over the whole run, and repeats a user's error as often as a loss:
with `max_failures=2` a ValueError was raised three times, 7 to 8 s apart.
"""

import math
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
from ray.train.torch import TorchConfig, TorchTrainer
from ray.util.metrics import Counter, Gauge

from vtr_core import storage
from vtr_core.config.run import TrainConfig
from vtr_core.errors import ClusterError, command_line
from vtr_core.storage import Location, locate
from vtr_core.train.checkpoint.checkpoint_files import complete_checkpoints
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.placement import Placement, placement, room, wait_for_room, worker_bundle
from vtr_core.train.fleet.worker_group import Channel, GroupWatch, RestartBudget, fault, train_worker
from vtr_core.train.job import Job, Report, graceful

_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_STARTS = 2
"""Further attempts of Ray Train's to start a group."""


class RunGauges:
    """The newest point of a run and the events counted so far, labelled by the run's folder and its preset.

    - `vtr_metric{metric="train/loss"}`: the newest value of each logged number, in its own unit
    - `vtr_step`, `vtr_total_steps`: optimizer steps done, and those of the whole run
    - `vtr_events{event="worker_lost"}`: how often something happened since the driver began

    Ray prefixes these names by `ray_` where it exports them, and takes labels of ASCII alone: other characters of a
    folder's name are percent-encoded, as in a URI.
    """

    def __init__(self, run: str, preset: str) -> None:
        """Gauges of the run in folder `run`, with the labels `run` and `preset`; Ray must be connected."""
        labels = ("run", "preset")
        self._labels = {"run": _ascii(run), "preset": _ascii(preset)}
        self._metric = Gauge("vtr_metric", "Newest value of a logged number.", (*labels, "metric"))
        self._step = Gauge("vtr_step", "Optimizer steps done.", labels)
        self._total = Gauge("vtr_total_steps", "Optimizer steps of the whole run.", labels)
        self._events = Counter("vtr_events", "Events of a run, such as lost workers.", (*labels, "event"))

    def add(self, report: Report) -> None:
        """Take over a point or an event."""
        if "event" in report:
            self._events.inc(1.0, {**self._labels, "event": _ascii(str(report["event"]))})
            return
        values = dict(report)
        self._step.set(float(values.pop("step")), self._labels)
        self._total.set(float(values.pop("total_steps")), self._labels)
        for name, value in values.items():
            self._metric.set(float(value), {**self._labels, "metric": _ascii(name)})


def _ascii(text: str) -> str:
    """`text`, which may hold bytes of a name that is no UTF-8, with all but printable ASCII percent-encoded."""
    return quote(text, safe=_PRINTABLE, errors="surrogateescape")


def uses_gpu(config: TrainConfig) -> bool:
    """Whether workers take a GPU each."""
    device = config.scaling.device
    return device == "gpu" or (device == "auto" and room(Placement()).gpus > 0)


def check_resources(config: TrainConfig) -> None:
    """ClusterError unless the cluster has, or can grow to, the fewest workers and the CPUs for reading.

    Without free CPUs Ray Data's tasks would wait for ever, and the run with them.
    """
    scaling = config.scaling
    placed = placement(scaling.reading_nodes)
    held = room(placed)
    setting = "scaling.workers" if scaling.min_workers is None else "scaling.min_workers"
    if not held.holds(scaling, scaling.fewest):
        if scaling.workers == 0:
            raise ClusterError(
                f"a training of {scaling.cpus_per_worker:g} CPUs is more than the cluster's {held}; "
                "lower scaling.cpus_per_worker"
            )
        cpus = scaling.fewest * scaling.cpus_per_worker + scaling.reading_cpus
        raise ClusterError(
            f"{scaling.fewest} workers of {scaling.cpus_per_worker:g} CPUs and {scaling.reading_cpus:g} for reading "
            f"need {cpus:g} CPUs, the cluster has {held}; "
            f"lower {setting}, scaling.cpus_per_worker or scaling.reading_cpus"
            + (", or read on any node with --scaling.reading_nodes any" if placed.is_apart else "")
        )
    if uses_gpu(config) and held.gpus < scaling.fewest:
        raise ClusterError(
            f"{scaling.fewest} workers need {scaling.fewest} GPUs, the cluster has {held.gpus:g}; "
            f"lower {setting} or use --scaling.device cpu"
        )


def fit_on_cluster(job: Job, on_report: Callable[[Report], None], should_stop: Callable[[], bool]) -> None:
    """`vtr_core.train.loop.worker.fit` on the connected Ray cluster.

    A lost worker or node restarts the group from the newest checkpoint, at most `scaling.max_restarts` times in a row.
    A node that is about to be preempted ends the group after a checkpoint; training continues on other nodes, or with
    fewer workers. `should_stop` is called twice a second.
    """
    channel = Channel()
    run = _Run(job, channel)
    gauges = RunGauges(job.run, job.config.preset)

    def pass_on(timeout_s: float) -> None:
        for report in channel.take(timeout_s):
            gauges.add(report)
            on_report(report)

    with graceful(run.request_stop):
        run.start()
        while run.is_alive():
            pass_on(timeout_s=0.5)
            if should_stop():
                run.request_stop()
        pass_on(timeout_s=0.0)
    if run.error is not None:
        raise run.error


class _Run(threading.Thread):
    """Runs Ray Train in a thread, so that the main thread receives signals."""

    def __init__(self, job: Job, channel: Channel) -> None:
        super().__init__(name="ray-train", daemon=True)
        self._channel, self._stopping = channel, threading.Event()
        self._groups = _Groups(job, channel, self._stopping.is_set)
        self.error: Exception | None = None

    def request_stop(self) -> None:
        """Ask the run to end, after a checkpoint where workers are training."""
        self._stopping.set()
        self._channel.request_stop("interrupted")

    def run(self) -> None:
        try:
            self._groups.run()
        except Exception as error:  # passed on to the main thread, whatever it is
            self.error = error


@dataclass(frozen=True)
class _Ended:
    """Why and when a group ended before the run did."""

    reason: str
    at: float
    """Monotonic time since when no group has been running."""
    restarts_left: int | None = None
    """Restarts left after a fault; None where it did not end by one."""


class _Groups:
    """The worker groups of a run, one after another, each as large as the cluster's resources allow."""

    def __init__(self, job: Job, channel: Channel, is_stopping: Callable[[], bool]) -> None:
        self._job, self._channel, self._is_stopping = job, channel, is_stopping
        self._scaling, self._counts = job.config.scaling, job.config.worker_counts
        self._gpu = uses_gpu(job.config)
        self._placed = Placement()
        self._budget = RestartBudget(self._scaling.max_restarts)
        self._scratch: Location = locate(job.run) / "ray_train"
        """The folder of Ray Train's own state during a run."""

    def run(self) -> None:
        """Start groups until the run is finished, or is asked to stop."""
        ended: _Ended | None = None
        while (workers := self._room(ended)) is not None:
            if ended is not None:
                left = {} if ended.restarts_left is None else {"restarts_left": ended.restarts_left}
                self._channel.report({"event": "restarted", "reason": ended.reason, "workers": workers, **left})
            self._channel.report({"event": "reading", "on": str(self._placed)})
            self._channel.new_group()
            if self._is_stopping():  # the request to stop may have come to the previous group
                break
            ended = self._train(workers)
            if ended is None:
                break
        storage.delete_folder(self._scratch)

    def _room(self, ended: _Ended | None) -> int | None:
        """How many workers fit, once any do; None where the run was asked to stop before."""
        if self._is_stopping():
            return None
        self._placed = placement(self._scaling.reading_nodes)
        deadline = math.inf if ended is None else ended.at + self._scaling.resources_timeout_s
        waiting = {"event": "waiting", "workers": self._counts[0], "each": worker_bundle(self._scaling, self._gpu)}
        workers = wait_for_room(
            self._scaling,
            self._counts,
            self._gpu,
            self._placed,
            lambda: self._is_stopping() or time.monotonic() > deadline,
            lambda: self._channel.report(waiting),
        )
        if workers is None and not self._is_stopping():
            raise ClusterError(
                f"no room for {self._counts[0]} workers and for reading since {self._scaling.resources_timeout_s:g} s "
                f"(scaling.resources_timeout_s); bring nodes back and use "
                + command_line("train", "--resume", self._job.run)
            )
        return workers

    def _train(self, workers: int) -> _Ended | None:
        """Train with one group: None where the run is done, else why the group ended."""
        larger = next((count for count in self._counts if count > workers), None)
        with GroupWatch(self._channel, self._scaling, self._gpu, self._placed, workers, larger) as watch:
            try:
                trainer = _trainer(self._job, self._channel, workers, self._gpu, self._placed, self._scratch)
                result: Any = trainer.fit()
            except TrainingFailedError as error:
                reason = fault(error, workers)
                # A node that went before all workers had finished was announced: that is no fault.
                return _Ended("preempted", time.monotonic()) if watch.reason == "preempted" else self._lost(reason)
        return None if result.return_value else _Ended(watch.reason or "interrupted", time.monotonic())

    def _lost(self, reason: str) -> _Ended:
        """Count a fault; TrainingError after too many from the newest checkpoint."""
        self._channel.report({"event": "worker_lost", "reason": reason})
        complete = complete_checkpoints(RunFolder.at(self._job.run).checkpoints)
        left = self._budget.spend(complete[-1].name if complete else None, reason)
        return _Ended(reason, time.monotonic(), left)


def _trainer(job: Job, channel: Channel, workers: int, gpu: bool, placed: Placement, scratch: Location) -> TorchTrainer:
    """Ray Train for one group; it tries a start that finds no room again by itself, and restarts nothing.

    Ray chooses between two generations of these classes at import; mypy knows the first, which is not the one used.
    """
    return TorchTrainer(
        train_worker,  # type: ignore[arg-type]
        train_loop_config={"job": job, "channel": channel, "placed": placed},
        torch_config=TorchConfig(timeout_s=math.ceil(job.config.scaling.collective_timeout_s)),
        scaling_config=ScalingConfig(
            num_workers=workers,
            use_gpu=gpu,
            resources_per_worker=worker_bundle(job.config.scaling, gpu),
            label_selector=placed.workers or None,  # type: ignore[call-arg]
        ),
        run_config=RunConfig(
            # Ray Train would resume its own state from a name used twice; ours is in the checkpoints.
            name=uuid.uuid4().hex,
            storage_path=scratch.uri if scratch.is_local else scratch.path,
            storage_filesystem=None if scratch.is_local else scratch.filesystem,  # it waits for a store that is away
            failure_config=FailureConfig(
                max_failures=0,
                max_preemption_failures=0,  # type: ignore[call-arg]
                controller_failure_limit=_STARTS,  # room that vanished between the wait for it and the group's start
            ),
        ),
    )
