"""Checks shapes and types of every call into vtr_core; keeps torch to one thread; offers one local Ray and a world.

No generated example has a deadline: machines that are shared are slow at times.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from tests.checked_calls import check_calls

check_calls("vtr_core")  # works on modules imported from here on
torch.set_num_threads(1)
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray of our own: four logical CPUs, no dashboard."""
    import ray

    from pipelines.ray_session import patiently

    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    patiently(partial(ray.init, address="local", num_cpus=4, **quiet))
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, local_ray: None) -> Path:
    """A small synthetic world, ingested, with its splits."""
    from pipelines.ingest import IngestFlags, ingest
    from vtr_core.data.sources.synthetic import Synthetic

    out = tmp_path_factory.mktemp("data") / "world"
    ingest(Synthetic(num_clips=600, dim_2d=16, dim_3d=16, dim_audio=8), IngestFlags(out=str(out), videos_per_shard=20))
    return out


@pytest.fixture(scope="session", autouse=True)
def own_tracking_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An MLflow store of the tests' own, away from the working directory, and no samples of the machine in it."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('tracking')}/mlflow.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        patch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "false")
        yield uri
