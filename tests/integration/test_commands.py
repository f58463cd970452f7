"""The commands as a user types them: an ingest that is killed, a run that is evaluated."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from tests.drills.runs import kill_group
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.errors import DatasetError

pytestmark = pytest.mark.integration


@pytest.mark.long
def test_a_killed_ingest_resumes_to_the_same_data_set(tmp_path: Path, local_ray: None) -> None:
    out = tmp_path / "killed"
    words = ["ingest", "synthetic", "--num-clips", "3000", "--videos-per-shard", "20", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *words],
        start_new_session=True,
        env={**os.environ, "RAY_ADDRESS": "local"},
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 3600
    while len(list(out.glob("_ingest/*-*.json"))) < 3:
        assert process.poll() is None, "the ingest ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kill_group(process)
    with pytest.raises(DatasetError, match="interrupted"):
        Manifest.load(str(out))
    source = Synthetic(num_clips=3000)
    ingest(source, IngestFlags(out=str(out), videos_per_shard=20))
    ingest(source, IngestFlags(out=str(tmp_path / "undisturbed"), videos_per_shard=20))
    for name, uri in splits(str(out)).items():
        assert Manifest.load(uri).fingerprint == Manifest.load(str(tmp_path / "undisturbed" / name)).fingerprint
