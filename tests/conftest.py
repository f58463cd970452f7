"""Checks shapes and types of calls into vtr_core; keeps torch to one thread; offers one local Ray and a world.

No generated example has a deadline or is too slow to make, and commands wait for what they depend on for longer than
they do elsewhere: machines that are shared are slow at times.
"""

import gc
import os
import shutil
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.checked_calls import check_calls, next_test
from tests.undisturbed import UNDISTURBED

gc.disable()  # what is imported stays: looking it through is a third of the time that collecting tests takes
check_calls("vtr_core")  # works on modules imported from here on
torch.set_num_threads(1)
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")
for name in ("MLFLOW", "RAY", "SWEEP"):
    os.environ.setdefault(f"VTR_{name}_PATIENCE_S", "1200")  # of the commands that tests start, too
for name, value in UNDISTURBED.items():
    os.environ.setdefault(name, value)

_LIMIT = pytest.StashKey[float]()
"""On the monotonic clock: when tests are no longer begun."""
_WHOLE = ("tests/integration/", "tests/test_ray_private.py")
"""Tests that start Ray wherever they run, those marked long aside."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--begin-within", type=float, metavar="MINUTES", help="skip the tests not begun by then")


def pytest_configure(config: pytest.Config) -> None:
    minutes = config.getoption("--begin-within")
    config.stash[_LIMIT] = float("inf") if minutes is None else time.monotonic() + 60 * minutes


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole runs first: they wait a lot, and beside one another and the rest their waits cost nothing."""
    whole = {item.path for item in items if item.get_closest_marker("integration")}
    items.sort(key=lambda item: item.path not in whole and not item.nodeid.startswith(_WHOLE))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests stay in one process, and those of `_WHOLE` all in the same one, which alone starts a Ray."""
    from xdist.scheduler import LoadFileScheduling

    class OneRay(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "Ray" if nodeid.startswith(_WHOLE) else super()._split_scope(nodeid)

    return OneRay(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    next_test()
    if item.get_closest_marker("linux") and sys.platform != "linux":
        pytest.skip(f"needs Linux, which this system ({sys.platform}) is not")
    if time.monotonic() > item.config.stash[_LIMIT]:
        pytest.skip(f"not begun within {item.config.getoption('--begin-within'):g} minutes: make test-all runs it")


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray of our own, one for all tests of a process: four logical CPUs, no dashboard."""
    import ray

    from pipelines.ray_session import alone, patiently
    from vtr_core.ray_private import KEEP_IDLE, NO_PRESTART

    os.environ.update({"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", **NO_PRESTART, **KEEP_IDLE})
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    with alone():
        patiently(partial(ray.init, address="local", num_cpus=4, object_store_memory=2**29, **quiet))
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic world, ingested, with its splits."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core.data.sources.synthetic import Synthetic

    out = tmp_path_factory.mktemp("data") / "world"
    ingest(
        Synthetic(num_clips=600, dim_2d=16, dim_3d=16, dim_audio=8),
        IngestFlags(out=str(out), videos_per_shard=20, workers=0),
    )
    return out


@pytest.fixture(scope="session", autouse=True)
def own_tracking_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An MLflow store of the tests' own, away from the working directory, and no samples of the machine in it."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('tracking')}/mlflow.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        patch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "false")
        yield uri


@pytest.fixture(scope="session")
def empty_tracking_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an MLflow store without runs: its making takes a second or more, its copying none."""
    from mlflow import MlflowClient

    file = tmp_path_factory.mktemp("empty-store") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def tracking_store(tmp_path: Path, empty_tracking_store: Path) -> str:
    """The URI of an MLflow store of the test's own, in its folder."""
    return f"sqlite:///{shutil.copy(empty_tracking_store, tmp_path / 'mlflow.db')}"
