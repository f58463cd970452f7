"""Starts a run as its configuration says: on Ray's workers, or in this process, without Ray."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.stream.assemble import read_directly
from vtr_core.errors import ClusterError
from vtr_core.train.job import Job, Reason, Report, WorkerContext, graceful
from vtr_core.train.loop.worker import Worker


def fit_in_process(job: Job, on_report: Callable[[Report], None], should_stop: Callable[[], bool]) -> None:
    """`vtr_core.train.fit.fit` in this process: batches, losses and weights are those of one worker.

    A fault ends the run; --resume continues it. `should_stop` is called at every step.
    """
    device = device_here(job.config)
    channel = _Channel(on_report, should_stop)

    def place(model: nn.Module) -> nn.Module:
        return model.to(device)

    context = WorkerContext(0, 1, device, channel, read_directly, place)
    with graceful(channel.stopping.set):
        Worker(job, context).run()


def device_here(config: TrainConfig) -> torch.device:
    """The device of the configuration on this machine; ClusterError where a GPU is requested and not available."""
    has_gpu = torch.cuda.is_available()
    if config.scaling.device == "gpu" and not has_gpu:
        raise ClusterError("scaling.device = 'gpu', and torch finds no CUDA device here; use --scaling.device cpu")
    return torch.device("cuda" if has_gpu and config.scaling.device != "cpu" else "cpu")


@dataclass(frozen=True)
class _Channel:
    """A channel within one process: reports are passed to the driver's callback at once."""

    report: Callable[[Report], None]
    should_stop: Callable[[], bool]
    stopping: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> "_Channel":
        return self

    def requested(self) -> bool:
        return self.stopping.is_set() or self.should_stop()

    def reason(self) -> Reason:
        return "interrupted"


def fit(job: Job, on_report: Callable[[Report], None], should_stop: Callable[[], bool] = lambda: False) -> None:
    """Run `job` to its end, or to its pause: on `scaling.workers` of the connected Ray cluster; with 0 in this process.

    `on_report` gets every logged point and event, in the driver. A VtrError in a worker, which is due to the user's
    input, ends the run at once. Ctrl-C or SIGTERM ends it after a checkpoint, with Interrupted. So does `should_stop`,
    but without an error.
    """
    if job.config.scaling.workers == 0:
        fit_in_process(job, on_report, should_stop)
    else:
        from vtr_core.train.trainer import fit_on_cluster

        fit_on_cluster(job, on_report, should_stop)
