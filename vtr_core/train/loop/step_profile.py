"""A profile of a few training steps by torch.profiler: a Chrome trace and a table of operators."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from vtr_core import storage
from vtr_core.errors import one_line
from vtr_core.storage import Location, StorageError
from vtr_core.tracking.run import TrackedRun, failures

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

    def ready(found: profile) -> None:
        expected: tuple[type[Exception], ...] = (StorageError, *failures())
        try:
            _keep(_texts(found, device), run, tracked)
        except expected as error:
            event("profiled", steps=_RECORDED, failed=one_line(str(error)))
        else:
            event("profiled", steps=_RECORDED, folder=str(run / "profile"))

    plan = schedule(wait=_WAIT, warmup=_WARM_UP, active=_RECORDED, repeat=1)
    with profile(activities=[ProfilerActivity.CPU, *cuda], schedule=plan, on_trace_ready=ready) as profiler:
        yield profiler.step


def _texts(found: profile, device: torch.device) -> dict[str, str]:
    """The trace, and the table of operators sorted by their own time on `device`."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "trace.json"
        found.export_chrome_trace(str(file))
        trace = file.read_text()
    key = "self_device_time_total" if device.type == "cuda" else "self_cpu_time_total"
    return {TRACE: trace, TABLE: found.key_averages().table(sort_by=key, row_limit=_ROWS)}


def _keep(texts: dict[str, str], run: Location, tracked: TrackedRun | None) -> None:
    for name, text in texts.items():
        storage.write_bytes(run / name, text.encode())
    if tracked is not None:
        for name, text in texts.items():
            tracked.log_text(name, text)
