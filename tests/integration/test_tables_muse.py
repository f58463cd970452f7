"""`vtr tables muse`: rows of one configuration are trained once; without data the paper's figures stand alone."""

import json
from pathlib import Path

import pytest

from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.muse.muse_tables import TablesFlags, tables
from vtr_core.data.sources.synthetic import SyntheticTokens

pytestmark = pytest.mark.integration


@pytest.mark.long
@pytest.mark.usefixtures("local_ray")
def test_rows_are_trained_and_stand_beside_the_papers_figures(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ingest(SyntheticTokens(num_videos=200, dim=16), IngestFlags(out=str(data)))
    flags = TablesFlags(
        only=(6,),
        preset="muse-tokens-tiny",
        data=str(data),
        test=(f"things={data}/test",),
        seeds=1,
        out=str(tmp_path / "out"),
    )
    page = tables(flags, {"training.max_steps": 3, "batch.videos": 16, "scaling.workers": 0})
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == ["base", "frame", "spatial"]
    figures = json.loads((tmp_path / "out" / "tables.json").read_text())["figures"]
    assert "things/t2v/r1" in figures["scale"]
    assert "| spatial | 44.4 | 70.3 | 80.9 | 15.4 | **" in page
    assert "msrvtt: not run" in page


def test_without_data_the_papers_figures_stand_alone(tmp_path: Path) -> None:
    page = tables(TablesFlags(out=str(tmp_path)), {})
    assert page.count("## Table ") == 11
    assert "| Transformer | 43.0 | 71.1 | 80.0 | 16.3 | 36.8 |" in page
    assert "benchmark: not run. Give the result of python -m benchmarks.muse" in page
