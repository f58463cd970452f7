"""Small data sets of every kind of record that a model may read, with the splits train, val and test."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipelines.cli import run
from pipelines.demo import render
from tests.builders.made_faces import ingested, made_faces, names
from tests.text.tagged import FixedTagger
from vtr_core.config.run import TrainConfig
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.synthetic import Synthetic, SyntheticTokens, SyntheticVideos

TRAINED, JUDGED = 32, 8
"""Films to train on, and of each other split."""
SPLITS = {"train": 0.8, "val": 0.1, "test": 0.1}


def clips(out: Path) -> None:
    """Narrated clips."""
    ingested(Synthetic(num_clips=400, dim_2d=16, dim_3d=16, dim_audio=8), out, videos_per_shard=20)


def videos(out: Path, count: int = 200) -> None:
    """Described videos and their concepts: every word is a noun to the tagger."""
    ingested(SyntheticVideos(num_videos=count, dim=32), out, videos_per_shard=40)
    data = [Manifest.load(str(out / name)) for name in SPLITS]
    tagger = FixedTagger(" ".join(f"{word}/NOUN" for word in WordTable.load(data[0]).vocabulary.words))
    build_concept_table(data, tagger, TableSettings(), str(out / "concepts"))


def tokens(out: Path) -> None:
    """Videos of patch tokens, with a vector for each caption."""
    ingested(SyntheticTokens(num_videos=120, dim=16), out, videos_per_shard=40)


def images(out: Path) -> None:
    """Faces of 24 people."""
    raw = made_faces(out.parent / "raw" / "faces", subjects=24)
    ingested(Faces(root=str(raw), validation=names(1, 4), test=names(5, 8)), out, videos_per_shard=5)


def frames(out: Path) -> None:
    """Frames of rendered films, as `vtr extract` makes them."""
    table = render(out.parent / "films", TRAINED + 2 * JUDGED, 0, test=JUDGED, validation=JUDGED)
    words = ["--captions", str(table), "--records", "frames", "--frame-size", "36", "--frame-rate", "1"]
    run("extract", [str(out.parent / "films"), *words, "--out", str(out), "--workers", "0"])


WORLDS: Mapping[str, Callable[[Path], Any]] = {
    "clips": clips,
    "videos": videos,
    "tokens": tokens,
    "images": images,
    "frames": frames,
}


def world_of(config: TrainConfig) -> str:
    """The name of the world that a model of this configuration reads."""
    records = config.model.system().records(config.model)
    return "tokens" if records == "videos" and getattr(config.model, "grid", None) else records
