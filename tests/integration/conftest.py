"""A small data set for whole runs."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, local_ray: None) -> Path:
    """A small synthetic world, ingested, with its splits."""
    from pipelines.ingest import IngestFlags, ingest
    from vtr_core.data.sources.synthetic import Synthetic

    out = tmp_path_factory.mktemp("data") / "world"
    ingest(Synthetic(num_clips=600, dim_2d=16, dim_3d=16, dim_audio=8), IngestFlags(out=str(out), videos_per_shard=20))
    return out
