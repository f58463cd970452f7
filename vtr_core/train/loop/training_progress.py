"""Progress of a run: its speed, a profile of steps, its best validation and plateaus, ties told once."""

import logging
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from vtr_core import storage
from vtr_core.errors import ConfigError, one_line
from vtr_core.metrics import ranking
from vtr_core.storage import Location, StorageError
from vtr_core.tracking.run import TrackedRun, failures
from vtr_core.train.checkpoint.checkpoint_files import Progress


class Meter:
    """Counts steps of `rows` rows each, and how long they waited for data."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._reset()

    def _reset(self) -> None:
        self._begin = time.perf_counter()
        self._waited = 0.0
        self._steps = 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time within this context counts as waiting for data."""
        begin = time.perf_counter()
        yield
        self._waited += time.perf_counter() - begin

    def elapsed(self) -> float:
        """Seconds since the last reading."""
        return time.perf_counter() - self._begin

    def step(self) -> None:
        """Count a step as done."""
        self._steps += 1

    def read(self) -> dict[str, float]:
        """Rows per second of the whole job and the share of time spent waiting, since the last reading."""
        elapsed = self.elapsed()
        rate, share = self._steps * self._rows / elapsed, self._waited / elapsed
        self._reset()
        return {"train/samples_per_s": rate, "train/data_wait": share}


_WAIT, _WARM_UP, _RECORDED = 4, 1, 3
STEPS = _WAIT + _WARM_UP + _RECORDED
"""Steps needed for a profile: four to begin, one with the profiler on but not recorded, three that are recorded."""
TRACE, TABLE = "profile/trace.json", "profile/operators.txt"
_ROWS = 60


@contextmanager
def profiled(
    run: Location, tracked: TrackedRun | None, device: torch.device, event: Callable[..., None]
) -> Iterator[Callable[[], None]]:
    """Profile this process's steps; yields a function to call after each step.

    `TRACE` and `TABLE` are written into the run folder and logged as artifacts of the MLflow run. A failed write costs
    the profile, not the run; the event `profiled` reports that, or where the profile is.
    """
    cuda = [ProfilerActivity.CUDA] if device.type == "cuda" else []

    def ready(recorded: profile) -> None:
        expected: tuple[type[Exception], ...] = (StorageError, *failures())
        try:
            _keep(_texts(recorded, device), run, tracked)
        except expected as error:
            event("profiled", steps=_RECORDED, failed=one_line(str(error)))
        else:
            event("profiled", steps=_RECORDED, folder=str(run / "profile"))

    plan = schedule(wait=_WAIT, warmup=_WARM_UP, active=_RECORDED, repeat=1)
    with profile(activities=[ProfilerActivity.CPU, *cuda], schedule=plan, on_trace_ready=ready) as profiler:
        yield profiler.step


def _texts(recorded: profile, device: torch.device) -> dict[str, str]:
    """The trace, and the table of operators sorted by their own time on `device`."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "trace.json"
        recorded.export_chrome_trace(str(file))
        trace = file.read_text()
    key = "self_device_time_total" if device.type == "cuda" else "self_cpu_time_total"
    return {TRACE: trace, TABLE: recorded.key_averages().table(sort_by=key, row_limit=_ROWS)}


def _keep(texts: dict[str, str], run: Location, tracked: TrackedRun | None) -> None:
    for name, text in texts.items():
        storage.write_bytes(run / name, text.encode())
    if tracked is not None:
        for name, text in texts.items():
            tracked.log_text(name, text)


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
    if _is_better(value, progress.best_value):
        return replace(progress, best_value=value, best_step=progress.step, flat_validations=0, flat_at_rate=0)
    flat = replace(progress, flat_validations=progress.flat_validations + 1, flat_at_rate=progress.flat_at_rate + 1)
    waited = flat.flat_at_rate if plateau == "flat" else flat.rate_age
    if plateau_patience is None or waited < plateau_patience:
        return flat
    return replace(flat, flat_at_rate=0, rate_age=0, plateaus=flat.plateaus + 1)


def _is_better(value: float, best: float | None) -> bool:
    if best is None or math.isnan(best):
        return not math.isnan(value)
    return value > best


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
