"""Data sets that several whole runs share."""

from pathlib import Path

import pytest

from pipelines.cli import run
from pipelines.demo import render
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from tests.text.tagged import FixedTagger
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.synthetic import SyntheticVideos

NUM_FILMS = 32


@pytest.fixture(scope="session")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Described videos with their splits and concepts: every word is a noun to the tagger."""
    out = tmp_path_factory.mktemp("data") / "described"
    ingest(SyntheticVideos(num_videos=420, dim=32), IngestFlags(out=str(out), videos_per_shard=40, workers=0))
    data = [Manifest.load(str(out / name)) for name in ("train", "val", "test")]
    tagger = FixedTagger(" ".join(f"{word}/NOUN" for word in WordTable.load(data[0]).vocabulary.words))
    build_concept_table(data, tagger, TableSettings(), str(out / "concepts"))
    return out


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of frames of rendered films, as `vtr extract` makes it."""
    folder = tmp_path_factory.mktemp("films")
    table = render(folder / "videos", NUM_FILMS, 0)
    words = ["--captions", str(table), "--records", "frames", "--frame-size", "36", "--frame-rate", "1"]
    run("extract", [str(folder / "videos"), *words, "--out", str(folder / "data"), "--workers", "0"])
    return folder / "data" / "test"
