"""What training records: progress, metrics, times."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from vtr_core.errors import ConfigError, RunConflict, TrainingError, command_line, one_line
from vtr_core.metrics import ranking
from vtr_core.storage import Location, StorageError
from vtr_core.tracking.run import TrackedRun
from vtr_core.tracking.run_log import MetricLog
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, complete_checkpoints, is_complete
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.lease import is_held
from vtr_core.train.job import DriverChannel


class Meter:
    """Counts steps of `rows` rows each, and how long they waited for data."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._reset()

    def _reset(self) -> None:
        self._begin, self._waited, self._steps = time.perf_counter(), 0.0, 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time within this context counts as waiting for data."""
        begin = time.perf_counter()
        yield
        self._waited += time.perf_counter() - begin

    def step(self) -> None:
        """Count a step as done."""
        self._steps += 1

    def read(self) -> dict[str, float]:
        """Rows per second of the whole job and the share of time spent waiting, since the last reading."""
        elapsed = time.perf_counter() - self._begin
        rate, share = self._steps * self._rows / elapsed, self._waited / elapsed
        self._reset()
        return {"train/samples_per_s": rate, "train/data_wait": share}


def judge(
    progress: Progress,
    values: Mapping[str, float],
    metric: str,
    plateau_patience: int | None = None,
    plateau: Literal["flat", "old_rate"] = "flat",
) -> Progress:
    """`progress` updated with this step's validation; higher is better, an equal value is no improvement,
    and NaN is none over anything.

    flat: a plateau is reached after `plateau_patience` validations without improvement since the best one, or since the
    last plateau.
    old_rate: it is reached at the first validation without improvement, once the rate has been in use for
    `plateau_patience` validations.
    """
    if metric not in values:
        metrics = ", ".join(sorted(values)) or "none: no row of it has a feature that the model takes"
        raise ConfigError(f"training.metric is {metric!r}; this validation set gives {metrics}")
    value = values[metric]
    progress = replace(progress, value=float(value), rate_age=progress.rate_age + 1)
    best = math.nan if progress.best_value is None else progress.best_value
    if value > best or (math.isnan(best) and not math.isnan(value)):
        return replace(progress, best_value=value, best_step=progress.step, flat_validations=0, flat_at_rate=0)
    flat = replace(progress, flat_validations=progress.flat_validations + 1, flat_at_rate=progress.flat_at_rate + 1)
    waited = flat.flat_at_rate if plateau == "flat" else flat.rate_age
    if plateau_patience is None or waited < plateau_patience:
        return flat
    return replace(flat, flat_at_rate=0, rate_age=0, plateaus=flat.plateaus + 1)


@contextmanager
def ties_told_once(tells: bool) -> Iterator[None]:
    """Within it metrics warn of ties once; never unless `tells`, as all workers of a run compute the same metrics."""
    logger, left = logging.getLogger(ranking.__name__), [tells]

    def is_first(record: logging.LogRecord) -> bool:  # noqa: ARG001
        return bool(left) and left.pop()

    logger.addFilter(is_first)
    try:
        yield
    finally:
        logger.removeFilter(is_first)


class Snapshots:
    """Takes snapshots, each into the memory of the previous one, which it overwrites.

    Tensors on a GPU are copied into pinned memory, for full transfer rate.
    """

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []
        self._taken = 0

    def take(self, checkpoint: Checkpoint) -> Checkpoint:
        """`checkpoint` with copies of its tensors; all copies are complete when this returns."""
        self._taken = 0
        copied = replace(
            checkpoint,
            model=self._copy(checkpoint.model),
            optimizer=self._copy(checkpoint.optimizer),
            objective=self._copy(checkpoint.objective),
            trained=self._copy(checkpoint.trained),
        )
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return copied

    def _copy(self, value: Any) -> Any:
        match value:
            case Tensor():
                return self._buffer(value).copy_(value.detach(), non_blocking=True)
            case dict():
                return {name: self._copy(inner) for name, inner in value.items()}
            case list():
                return [self._copy(inner) for inner in value]
            case _:
                return value

    def _buffer(self, like: Tensor) -> Tensor:
        place, self._taken = self._taken, self._taken + 1
        for buffer in self._buffers[place : place + 1]:
            if (buffer.shape, buffer.dtype, buffer.stride()) == (like.shape, like.dtype, like.stride()):
                return buffer
        fresh = torch.empty_like(like, device="cpu", pin_memory=like.is_cuda, requires_grad=False)
        self._buffers[place : place + 1] = [fresh]
        return fresh


class Recorder:
    """Writes to the run folder and to the driver; only the first worker has one.

    A failed write costs a checkpoint, not the run: the next checkpoint is tried again. Training waits only for a
    checkpoint's snapshot; a thread writes it, one at a time, and the next save waits for the previous one.
    """

    def __init__(
        self,
        folder: RunFolder,
        lease: int,
        tracked: TrackedRun | None,
        channel: DriverChannel,
        step: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The recorder of a worker group that begins at `step`."""
        self._clock, self._saved_s = clock, clock()
        self._snapshots, self._writer = Snapshots(), ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: tuple[int, Future[Location]] | None = None
        """The step of a checkpoint that the thread is writing, and its outcome."""
        self._folder, self._lease, self._channel = folder, lease, channel
        self._require_lease()
        self._try(step, folder.tidy)
        self._log = MetricLog(folder.location / "metrics.jsonl", tracked, step)

    def begin(self, step: int, workers: int) -> None:
        """Tell the driver that the group begins, and how many already logged steps it repeats."""
        lost = self._log.steps_lost
        if step or lost:
            self.event("resumed", step=step, steps_lost=lost, workers=workers)
        else:
            self.event("started", step=step, workers=workers)

    def point(self, values: Mapping[str, float], step: int, total_steps: int) -> None:
        """Log a point and send it to the driver, waiting for neither.

        Ray Train's own `report` would block all workers until its controller polls, every two seconds.
        """
        if not self.is_writing():
            self.finish_writing()
        self._log.add(values, step)
        self._channel.report({**values, "step": step, "total_steps": total_steps})

    def event(self, event: str, **details: Any) -> None:
        """Tell the driver what happened."""
        self._channel.report({"event": event, **details})

    def is_late(self, minutes: float | None) -> bool:
        """Whether the group has neither written nor tried to write a checkpoint for `minutes`; False for None."""
        return minutes is not None and self._clock() - self._saved_s >= 60 * minutes

    def save(self, checkpoint: Checkpoint) -> str:
        """Take a snapshot and write it while training continues, after earlier points; an event where that fails.

        The snapshot is complete when this returns, the checkpoint after `finish_writing`. Returns the reason if neither
        will be written.
        """
        self.finish_writing()
        self._saved_s, step = self._clock(), checkpoint.progress.step
        failure = self._try(step, self._publish_points)
        if not failure:
            taken = self._snapshots.take(checkpoint)
            self._writing = step, self._writer.submit(self._save, taken)
        return failure

    def is_writing(self) -> bool:
        """Whether a checkpoint is being written now."""
        return self._writing is not None and not self._writing[1].done()

    def finish_writing(self) -> str:
        """Wait for the checkpoint that is being written; returns why it failed, if it did, which is also an event.

        Raises RunConflict where another driver has taken the run over.
        """
        writing, self._writing = self._writing, None
        return "" if writing is None else self._try(writing[0], writing[1].result)

    def save_last(self, step: int, make: Callable[[], Checkpoint]) -> None:
        """Write the checkpoint of `step` unless it is there; TrainingError where it cannot be written."""
        self.finish_writing()
        if not is_complete(self._folder.checkpoint_at(step)):
            failure = self.save(make()) or self.finish_writing()
            if failure:
                complete = complete_checkpoints(self._folder.checkpoints)
                newest = f"the newest good one is {complete[-1]}" if complete else "there is none before it"
                raise TrainingError(
                    f"the last checkpoint, of step {step}, is lost: {failure}; {newest}; free space or see to "
                    f"the permissions, then {command_line('train', '--resume', self._folder.location)}"
                )

    def close(self) -> bool:
        """Send and write everything pending, including a checkpoint; returns whether MLflow has every point."""
        self._writer.shutdown()
        return self._log.close()

    def _publish_points(self) -> None:
        self._require_lease()
        self._log.publish()

    def _save(self, checkpoint: Checkpoint) -> Location:
        self._require_lease()
        return self._folder.save(checkpoint, checkpoint.config.training.keep_checkpoints)

    def _try(self, step: int, write: Callable[[], object]) -> str:
        """The reason why writing failed, also reported to the driver; empty on success."""
        try:
            write()
        except (OSError, StorageError) as error:
            reason = one_line(str(error))
            self.event("checkpoint_failed", step=step, reason=reason)
            return reason
        return ""

    def _require_lease(self) -> None:
        """Raise RunConflict where another driver has taken the run over, which this worker may not know yet."""
        if not is_held(self._folder.location / "owner", self._lease):
            raise RunConflict(f"{self._folder.location} was taken over by another driver, which goes on with the run")
