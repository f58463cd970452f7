"""`vtr embed --write`: captions, concepts and activations as tables, which resume like vectors."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pipelines.caption import CaptionFlags, caption
from pipelines.cli import run
from pipelines.embed import EmbedFlags, embed
from tests.builders.dual_checkpoints import CONCEPTS, capsule_checkpoint, captioner_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.batches import clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.errors import VtrError
from vtr_core.retrieval.embed import embedding_job as job
from vtr_core.retrieval.embed.stored_embeddings import TABLE, TableSet, load_embeddings, load_table_set
from vtr_core.storage import Location
from vtr_core.systems.capsules.activations import capsule_model
from vtr_core.systems.dual.dual_embeddings import embed_dual
from vtr_core.train.checkpoint import load_model


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="module")
def videos(home: Path) -> Manifest:
    return toy_videos(home / "videos", frames_of=(3, 1, 4, 0, 5))


@pytest.fixture(scope="module")
def clips(home: Path) -> Manifest:
    return toy_dataset(home / "clips")[0]


@pytest.fixture(scope="module")
def dual(home: Path, videos: Manifest) -> str:
    return dual_checkpoint(home / "dual", videos)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SHARD_ROWS", 2)


def written(checkpoint: str, data: Manifest, out: Path, write: str, **settings: float) -> pa.Table:
    found = embed(EmbedFlags(checkpoint, data.uri, str(out), write=write, workers=0, **settings))  # type: ignore[arg-type]
    assert isinstance(found, TableSet)
    assert len(found.shards) > 1
    assert sorted(file.name for file in out.iterdir()) == [*(shard.file for shard in found.shards), TABLE]
    table = pa.concat_tables([pq.read_table(out / shard.file) for shard in found.shards])
    assert (found.output, found.rows, found.settings) == (write, table.num_rows, settings)
    return table


def test_concepts_are_the_most_probable_ones(dual: str, videos: Manifest, tmp_path: Path) -> None:
    rows = written(dual, videos, tmp_path / "c", "concepts", top=2).to_pylist()
    computed = embed_dual(load_model(dual), videos)
    assert [row["video_id"] for row in rows] == list(computed.video_id)
    for row, scores, present in zip(rows, computed.video["concept"], computed.video_present, strict=True):
        probabilities = dict(zip(CONCEPTS, 1 / (1 + np.exp(-scores.astype(np.float64))), strict=True))
        best = sorted(CONCEPTS, key=lambda name: -probabilities[name])[:2] if present else []
        assert row["has_frames"] == present
        assert row["concepts"] == best
        assert row["probabilities"] == pytest.approx([probabilities[name] for name in best], rel=1e-6)


@pytest.mark.long
def test_actors_of_ray_write_the_same_tables(
    dual: str, videos: Manifest, clips: Manifest, local_ray: None, tmp_path: Path
) -> None:
    cases: list[tuple[str, Manifest, str, dict[str, Any]]] = [
        (dual, videos, "concepts", {"top": 2}),
        (captioner_checkpoint(tmp_path / "captioner", videos), videos, "captions", {"beams": 1}),
        (capsule_checkpoint(tmp_path / "capsules", clips), clips, "activations", {}),
    ]
    for checkpoint, data, write, settings in cases:
        flags = EmbedFlags(checkpoint, data.uri, str(tmp_path / write), write=write, workers=0, **settings)
        here = embed(flags)
        there = embed(replace(flags, out=str(tmp_path / f"{write}-on-ray"), workers=2))
        assert len(here.shards) > 1
        assert there == here


@pytest.mark.parametrize("settings", [{}, {"beams": 1, "length_penalty": 0.5}], ids=str)
def test_captions_are_those_of_vtr_caption(settings: dict[str, float], videos: Manifest, tmp_path: Path) -> None:
    checkpoint = captioner_checkpoint(tmp_path / "captioner", videos)
    rows = written(checkpoint, videos, tmp_path / "c", "captions", **settings).to_pylist()
    told = caption(CaptionFlags(checkpoint, videos.uri, str(tmp_path / "page"), **settings))  # type: ignore[arg-type]
    assert {row["video_id"]: row["caption"] for row in rows} == told.hypotheses
    assert {row["video_id"]: row["has_frames"] for row in rows} == told.has_frames


def test_activations_are_the_capsules_own(clips: Manifest, tmp_path: Path) -> None:
    checkpoint = capsule_checkpoint(tmp_path / "capsules", clips)
    rows = written(checkpoint, clips, tmp_path / "a", "activations").to_pylist()
    loaded = load_model(checkpoint)
    model, features = capsule_model(loaded.model.eval(), "capsule_net"), loaded.config.model.inputs.features
    reader, place = RowGroupReader(clips, [*training_columns(clips.schema), "clip_id", "caption"]), 0
    for group in row_groups(clips):
        columns = reader.read(group)
        batch = clip_batch(columns, list(features))
        with torch.inference_mode():
            expected = {name: found.activations.numpy() for name, found in model.activations(batch).items()}
        present = {"text": batch.text_present, **batch.present}
        for i in range(len(columns["clip_id"])):
            row, place = rows[place], place + 1
            assert (row["clip_id"], row["caption"]) == (columns["clip_id"][i], columns["caption"][i])
            for name, values in expected.items():
                assert (row[name] is not None) == bool(present[name][i])
                assert row[name] is None or row[name] == pytest.approx(values[i].tolist(), rel=1e-5)
    assert place == len(rows)


def test_an_interrupted_job_resumes_and_a_complete_one_is_left(
    dual: str, videos: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags, write = EmbedFlags(dual, videos.uri, str(tmp_path / "c"), write="concepts", workers=0), job.write_table

    def failing(table: pa.Table, location: Location) -> object:
        if location.name == "part-00001.parquet":
            raise KeyboardInterrupt
        return write(table, location)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(job, "write_table", failing)
        embed(flags)
    with pytest.raises(VtrError, match="interrupted embedding of another"):
        embed(EmbedFlags(dual, videos.uri, flags.out, write="concepts", top=1, workers=0))
    found = embed(flags)
    assert "1 of" in capsys.readouterr().out
    assert embed(flags) == found
    assert "already, complete" in capsys.readouterr().out
    for other in ({"write": "concepts", "top": 1}, {"write": "vectors"}):
        with pytest.raises(VtrError, match="already holds other embeddings or tables"):
            embed(EmbedFlags(dual, videos.uri, flags.out, workers=0, **other))


def test_what_cannot_be_written_is_named(dual: str, videos: Manifest, clips: Manifest, tmp_path: Path) -> None:
    capsules, base = capsule_checkpoint(tmp_path / "capsules", clips), [dual, "--data", videos.uri, "--workers", "0"]
    plain = dual_checkpoint(tmp_path / "plain", videos, {"model.num_concepts": None})
    cases = [
        ([*base, "--write", "poems"], "models write activations, captions, concepts, vectors"),
        ([*base, "--write", "captions"], "'captioner'"),
        ([*base, "--write", "concepts", "--beams", "2"], "--beams is no setting of it; it takes --top"),
        ([*base, "--top", "2"], "--top is no setting of it; it takes none"),
        ([*base, "--write", "concepts", "--top", "4"], "the model has 3 concepts"),
        ([plain, *base[1:], "--write", "concepts"], "has no concept space"),
        ([capsules, "--data", clips.uri, "--write", "activations", "--top", "2"], "it takes none"),
    ]
    for words, message in cases:
        with pytest.raises(VtrError, match=message):
            run("embed", [*words, "--out", str(tmp_path / "none")])
    assert not (tmp_path / "none").exists()


def test_tables_are_no_vectors_and_damage_is_named(dual: str, videos: Manifest, tmp_path: Path) -> None:
    out = tmp_path / "c"
    written(dual, videos, out, "concepts")
    with pytest.raises(VtrError, match="holds a table by vtr embed --write, no vectors"):
        load_embeddings(str(out))
    marker = out / TABLE
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "output": "captions"}))
    with pytest.raises(VtrError, match="does not match its fingerprint"):
        load_table_set(str(out))
