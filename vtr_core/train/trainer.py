"""The driver's side of a run: Ray Train's worker group, started again after a lost worker."""

import logging
import threading
import uuid
from collections.abc import Callable

import ray
import ray.train
from ray.exceptions import RayError
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer
from ray.train.v2._internal.exceptions import WorkerHealthCheckFailedError
from ray.train.v2.api.exceptions import TrainingFailedError, WorkerGroupError

from vtr_core import storage
from vtr_core.config.train import TrainConfig
from vtr_core.errors import ClusterError, TrainingError, VtrError
from vtr_core.storage import Location, locate
from vtr_core.train.channel import Channel, Report
from vtr_core.train.interrupts import graceful
from vtr_core.train.worker import Job, train_worker

logger = logging.getLogger(__name__)


def uses_gpu(config: TrainConfig) -> bool:
    """Whether workers take a GPU each."""
    match config.scaling.device:
        case "gpu":
            return True
        case "cpu":
            return False
        case "auto":
            return ray.cluster_resources().get("GPU", 0) > 0


def check_resources(config: TrainConfig) -> None:
    """ClusterError unless the cluster holds the workers and leaves CPUs for reading.

    Without free CPUs Ray Data's tasks would wait for ever, and the run with them.
    """
    scaling, held = config.scaling, ray.cluster_resources()
    wanted = scaling.workers * scaling.cpus_per_worker + scaling.reading_cpus
    if held.get("CPU", 0) < wanted:
        raise ClusterError(
            f"{scaling.workers} workers of {scaling.cpus_per_worker:g} CPUs and {scaling.reading_cpus:g} for reading "
            f"need {wanted:g} CPUs, the cluster has {held.get('CPU', 0):g}; "
            "lower scaling.workers or scaling.cpus_per_worker"
        )
    if uses_gpu(config) and held.get("GPU", 0) < scaling.workers:
        raise ClusterError(
            f"{scaling.workers} workers need {scaling.workers} GPUs, the cluster has {held.get('GPU', 0):g}; "
            "lower scaling.workers or use --scaling.device cpu"
        )


def fit(job: Job, on_report: Callable[[Report], None]) -> None:
    """Run `job` to its end on the connected Ray cluster; `on_report` gets every logged point, in the driver.

    A lost worker or node restarts the group from the newest checkpoint, `scaling.max_restarts` times at most. A fault
    in what the user gave (a VtrError in a worker) ends the run at once. Ctrl-C or SIGTERM ends it after a checkpoint,
    with Interrupted.
    """
    channel = Channel()
    run = _Run(job, channel)
    with graceful(channel.request_stop):
        run.start()
        while run.is_alive():
            for report in channel.take(timeout_s=0.5):
                on_report(report)
        for report in channel.take(timeout_s=0.0):
            on_report(report)
    if run.error is not None:
        raise run.error


def _scratch(job: Job) -> Location:
    """Where Ray Train keeps its own state while a run goes on."""
    return locate(job.run) / "ray_train"


def _fit_with_restarts(job: Job, channel: Channel) -> None:
    for restarts_left in range(job.config.scaling.max_restarts, -1, -1):
        try:
            _trainer(job, channel).fit()
            storage.delete_folder(_scratch(job))
            return
        except TrainingFailedError as error:
            _raise_if_final(error, job.config.scaling.workers, restarts_left)
            logger.warning("a worker was lost; starting again from the newest checkpoint (%s)", _first_line(error))


def _trainer(job: Job, channel: Channel) -> TorchTrainer:
    gpu = uses_gpu(job.config)
    scaling = ScalingConfig(
        num_workers=job.config.scaling.workers,
        use_gpu=gpu,
        resources_per_worker={"CPU": job.config.scaling.cpus_per_worker, **({"GPU": 1} if gpu else {})},
    )
    # Ray Train would resume its own state from a name used twice; ours is in the checkpoints.
    run = RunConfig(name=uuid.uuid4().hex, storage_path=_scratch(job).uri)
    return TorchTrainer(
        train_worker,
        train_loop_config={"job": job, "channel": channel},
        torch_config=TorchConfig(),
        scaling_config=scaling,
        run_config=run,
    )


def _raise_if_final(error: TrainingFailedError, workers: int, restarts_left: int) -> None:
    """Return where starting again can help: a worker was lost, or, as its peers see it, a collective broke."""
    failures = list(error.worker_failures.values()) if isinstance(error, WorkerGroupError) else []
    for failure in failures:
        if isinstance(failure, VtrError):
            raise failure from error
    lost = any(isinstance(failure, (RayError, WorkerHealthCheckFailedError)) for failure in failures)
    broken = workers > 1 and any(isinstance(failure, RuntimeError) for failure in failures)
    if failures and not lost and not broken:
        raise error
    if restarts_left == 0:
        raise TrainingError(f"workers were lost too often (scaling.max_restarts): {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """The first line that says something of its own; Ray's own first line is a heading."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[1] if len(lines) > 1 else str(error)


class _Run(threading.Thread):
    """Ray Train in a thread of its own: the main thread stays free for signals, which Ray Train would take."""

    def __init__(self, job: Job, channel: Channel) -> None:
        super().__init__(name="ray-train", daemon=True)
        self._job, self._channel = job, channel
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            _fit_with_restarts(self._job, self._channel)
        except Exception as error:  # handed to the main thread, whatever it is
            self.error = error
