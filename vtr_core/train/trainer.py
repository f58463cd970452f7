"""The driver's side of a run: Ray Train's worker group, started again after a lost worker."""

import logging
import threading
import uuid
from collections.abc import Callable
from typing import Any

import ray
import ray.train
from ray.exceptions import RayActorError
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer
from ray.train.v2.api.exceptions import TrainingFailedError, WorkerGroupError
from ray.util.queue import Empty, Queue

from vtr_core.config.train import TrainConfig
from vtr_core.errors import ClusterError, TrainingError, VtrError
from vtr_core.train.worker import Job, train_worker

logger = logging.getLogger(__name__)
Report = dict[str, Any]


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
    in what the user gave (a VtrError in a worker) ends the run at once.
    """
    check_resources(job.config)
    with _Listener(on_report) as listener:
        for restarts_left in range(job.config.scaling.max_restarts, -1, -1):
            try:
                _trainer(job, listener.queue).fit()
                return
            except TrainingFailedError as error:
                _raise_if_final(error, restarts_left)
                logger.warning("a worker was lost (%s); starting again from the newest checkpoint", _last_line(error))


def _trainer(job: Job, queue: Queue) -> TorchTrainer:
    gpu = uses_gpu(job.config)
    scaling = ScalingConfig(
        num_workers=job.config.scaling.workers,
        use_gpu=gpu,
        resources_per_worker={"CPU": job.config.scaling.cpus_per_worker, **({"GPU": 1} if gpu else {})},
    )
    # Ray Train would resume its own state from a name used twice; ours is in the checkpoints.
    run = RunConfig(name=uuid.uuid4().hex, storage_path=f"{job.run}/ray_train")
    return TorchTrainer(
        train_worker,
        train_loop_config={"job": job, "reports": queue},
        torch_config=TorchConfig(),
        scaling_config=scaling,
        run_config=run,
    )


def _raise_if_final(error: TrainingFailedError, restarts_left: int) -> None:
    failures = error.worker_failures if isinstance(error, WorkerGroupError) else {}
    for failure in failures.values():
        cause = getattr(failure, "cause", None) or failure.__cause__ or failure
        if isinstance(cause, VtrError):
            raise cause from error
    lost = any(isinstance(failure, RayActorError) for failure in failures.values())
    if failures and not lost:
        raise error
    if restarts_left == 0:
        raise TrainingError(f"workers were lost too often (scaling.max_restarts): {_last_line(error)}") from error


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]


class _Listener:
    """A thread of the driver that hands reports on, in order, until the run ends."""

    def __init__(self, on_report: Callable[[Report], None]) -> None:
        self._on_report = on_report
        self.queue = Queue(actor_options={"num_cpus": 0})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="report-listener", daemon=True)

    def __enter__(self) -> "_Listener":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.queue.shutdown()

    def _listen(self) -> None:
        while True:
            try:
                self._on_report(self.queue.get(timeout=0.5))
            except Empty:
                if self._ended.is_set():
                    return
