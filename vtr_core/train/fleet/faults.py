"""Faults of a worker group, and whether they end the run or restart it."""

from dataclasses import dataclass

from ray.exceptions import RayError
from ray.train import ControllerError, TrainingFailedError, WorkerGroupError

from vtr_core import ray_private
from vtr_core.errors import TrainingError, VtrError

_MAX_REASON = 200


@dataclass(frozen=True)
class Fault:
    """A fault that a restart can help against."""

    reason: str
    began: bool
    """Whether the group had begun; if not, its room had vanished in between."""


def fault(error: TrainingFailedError, workers: int) -> Fault:
    """The fault behind Ray Train's error: a lost worker, or a broken collective, as its peers see the loss.

    Raises the error that ends the run where a restart cannot help: a worker's VtrError, or an error of the code.
    """
    if isinstance(error, ControllerError) and isinstance(error.controller_failure, ray_private.start_timeout()):
        return Fault(first_line(error.controller_failure), began=False)
    failures = list(error.worker_failures.values()) if isinstance(error, WorkerGroupError) else []
    for failure in failures:
        if isinstance(failure, VtrError):
            raise failure from error
    lost = any(_is_loss(failure) for failure in failures)
    broken = workers > 1 and any(isinstance(failure, RuntimeError) for failure in failures)
    if failures and not lost and not broken:
        raise error
    return Fault(_reason(error), began=True)


def _reason(error: TrainingFailedError) -> str:
    """The message of one failed worker, preferably a lost one rather than its peers."""
    if not isinstance(error, WorkerGroupError) or not error.worker_failures:
        return first_line(error)
    worker, failure = min(error.worker_failures.items(), key=lambda item: (not _is_loss(item[1]), item[0]))
    return f"worker {worker}: {first_line(failure)}"


def _is_loss(failure: Exception) -> bool:
    return isinstance(failure, (RayError, ray_private.failed_health_check()))


def first_line(error: Exception) -> str:
    """The beginning of the error's first line."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]}…"


class RestartBudget:
    """`allowed` restarts in a row from the same checkpoint.

    A new checkpoint renews the budget: a run over weeks survives any number of faults as long as it makes progress, and
    one that fails again and again at the same place ends.
    """

    def __init__(self, allowed: int) -> None:
        self._allowed, self._left = allowed, allowed
        self._checkpoint: str | None = None

    def spend(self, checkpoint: str | None, why: Fault) -> int:
        """Count one restart from `checkpoint` (None: from the beginning); returns how many are left after it.

        TrainingError where none is left.
        """
        if checkpoint != self._checkpoint:
            self._checkpoint, self._left = checkpoint, self._allowed
        if self._left == 0:
            raise TrainingError(
                f"workers were lost {self._allowed + 1} times from {checkpoint or 'the beginning'} "
                f"(scaling.max_restarts = {self._allowed}): {why.reason}"
            )
        self._left -= 1
        return self._left
