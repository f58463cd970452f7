"""`vtr embed`: the vectors are those of evaluation bit for bit, an interrupted job resumes, and faults are named."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from pipelines.cli import run
from pipelines.embed import EmbedFlags, embed
from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import QuerySample, evaluate_retrieval, figures, rankings
from vtr_core.errors import VtrError
from vtr_core.retrieval.embed import embedding_job as job
from vtr_core.retrieval.embed.stored_embeddings import FILE, load_embeddings, read_embeddings
from vtr_core.systems.dual.dual_embeddings import DualRows, embed_dual
from vtr_core.systems.spaces import embed_rows
from vtr_core.train.checkpoint import load_model


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embed")


@pytest.fixture(scope="module")
def data(home: Path) -> Manifest:
    return toy_dataset(home / "clips")[0]


@pytest.fixture(scope="module")
def checkpoint(home: Path, data: Manifest) -> str:
    return capsule_checkpoint(home / "capsules", data)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SHARD_ROWS", 2)


def _expected(checkpoint: str, data: Manifest) -> EmbeddedRows:
    loaded = load_model(checkpoint)
    return embed_rows(loaded.model, loaded.config, data, loaded.vocabulary, row_groups(data))


def _assert_equal(found: EmbeddedRows, expected: EmbeddedRows) -> None:
    assert found.vectors.keys() == expected.vectors.keys()
    for name, vectors in expected.vectors.items():
        assert found.vectors[name].tobytes() == vectors.tobytes()
        assert np.array_equal(found.present[name], expected.present[name])
    assert np.array_equal(found.clip_key, expected.clip_key)
    assert np.array_equal(found.video_key, expected.video_key)


def test_embeddings_are_those_of_the_evaluation_bit_for_bit(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    found = embed(EmbedFlags(checkpoint, data.uri, str(tmp_path / "e"), workers=0))
    assert len(found.shards) > 1
    assert load_embeddings(str(tmp_path / "e")) == found
    _assert_equal(read_embeddings(found, str(tmp_path / "e")), _expected(checkpoint, data))
    assert sorted(file.name for file in (tmp_path / "e").iterdir()) == [FILE, *(shard.file for shard in found.shards)]


@pytest.mark.long
@pytest.mark.usefixtures("local_ray")
def test_actors_of_ray_write_the_same_files(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    here = embed(EmbedFlags(checkpoint, data.uri, str(tmp_path / "here"), workers=0))
    there = embed(EmbedFlags(checkpoint, data.uri, str(tmp_path / "there"), workers=2))
    assert there == here


def test_an_interrupted_job_resumes_with_the_shards_that_are_left(
    data: Manifest, checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = EmbedFlags(checkpoint, data.uri, str(tmp_path / "e"), workers=0)
    written = job.write_rows

    def failing(rows: EmbeddedRows, location: object) -> object:
        if location.name == "part-00001.parquet":  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return written(rows, location)  # type: ignore[arg-type]

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(job, "write_rows", failing)
        embed(flags)
    with pytest.raises(VtrError, match="not complete; repeat the vtr embed command"):
        load_embeddings(flags.out)
    (tmp_path / "e" / "part-00001.parquet.part-4711").write_bytes(b"half of it, of a killed process")
    first = (tmp_path / "e" / "part-00000.parquet").stat().st_mtime_ns
    found = embed(flags)
    assert "1 of" in capsys.readouterr().out
    assert not list((tmp_path / "e").glob("*.part-*"))
    assert (tmp_path / "e" / "part-00000.parquet").stat().st_mtime_ns == first
    _assert_equal(read_embeddings(found, flags.out), _expected(checkpoint, data))
    assert embed(flags) == found
    assert "already, complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changes",
    [
        {},
        pytest.param({"model.num_concepts": None}, marks=pytest.mark.long),
        pytest.param({"model.latent_dim": None}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_evaluation_and_index_of_a_dual_encoder_read_them_bit_for_bit(
    changes: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    videos = toy_videos(tmp_path / "videos", frames_of=(3, 1, 4, 0, 5, 2, 2, 6))
    checkpoint, out = dual_checkpoint(tmp_path / "dual", videos, changes), str(tmp_path / "e")
    found = embed(EmbedFlags(checkpoint, videos.uri, out, workers=0))
    assert len(found.shards) > 1
    loaded = load_model(checkpoint)
    computed, read = embed_dual(loaded, videos), embed_dual(loaded, videos, read_embeddings(found, out))
    for field in fields(DualRows):
        ours, theirs = getattr(read, field.name), getattr(computed, field.name)
        if field.name in ("text", "video"):
            assert list(ours) == list(theirs)
            assert all(ours[space].tobytes() == theirs[space].tobytes() for space in theirs)
        else:
            assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes(), field.name
    assert read.captions == computed.captions
    assert read.video_id == computed.video_id
    flags = EvaluateFlags(checkpoint, (videos.uri,))
    expected, built = evaluate(flags)[0].metrics(), index(IndexFlags(checkpoint, videos.uri, str(tmp_path / "i")))
    monkeypatch.setattr("vtr_core.systems.dual.dual_embeddings.embed_dual_rows", None)
    assert evaluate(replace(flags, embeddings=(out,)))[0].metrics() == expected
    from_stored = index(IndexFlags(embeddings=out, out=str(tmp_path / "j")))
    assert from_stored.files == built.files


def test_embeddings_of_other_rows_are_refused(tmp_path: Path) -> None:
    videos = toy_videos(tmp_path / "videos", frames_of=(3, 1, 4))
    loaded = load_model(dual_checkpoint(tmp_path / "dual", videos))
    rows = embed_rows(loaded.model, loaded.config, videos, loaded.vocabulary, row_groups(videos))
    with pytest.raises(VtrError, match="have other rows than"):
        embed_dual(loaded, videos, replace(rows, clip_key=rows.clip_key[::-1]))


def test_sampled_queries_rank_against_all_items(data: Manifest, checkpoint: str) -> None:
    rows = _expected(checkpoint, data)
    whole, some = evaluate_retrieval(rows, "dot"), evaluate_retrieval(rows, "dot", QuerySample(4, seed=3))
    assert evaluate_retrieval(rows, "dot", QuerySample(10**6)) == whole
    assert [d.metrics.num_queries for d in some] == [min(4, d.metrics.num_queries) for d in whole]
    assert [d.metrics.num_items for d in some] == [d.metrics.num_items for d in whole]
    assert evaluate_retrieval(rows, "dot", QuerySample(4, seed=3)) == some
    ranking = rankings(rows)[0]
    every = [QuerySample(1, seed).of(ranking) for seed in range(200)]
    assert {int(one.queries.key[0]) for one in every} == set(ranking.queries.key.tolist())
    ranks = [figures(one, one.scores("dot")).metrics.mean_rank for one in every]
    assert min(ranks) <= whole[0].metrics.mean_rank <= max(ranks)


def test_sampled_queries_are_told_with_intervals(
    data: Manifest, checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run("evaluate", [checkpoint, "--data", data.uri, "--sample-queries", "4"])
    assert "95 % intervals: text" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(VtrError, match="is for plain retrieval"):
        run("evaluate", [checkpoint, "--data", data.uri, "--sample-queries", "4", "--aggregate", "captions"])
    with pytest.raises(VtrError, match="--sample-queries is 0"):
        run("evaluate", [checkpoint, "--data", data.uri, "--sample-queries", "0"])


def test_damage_is_named(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    embed(EmbedFlags(checkpoint, data.uri, str(tmp_path), workers=0))
    shard, marker = tmp_path / "part-00000.parquet", tmp_path / FILE
    rows, record = shard.read_bytes(), json.loads(marker.read_text())
    for content, changes, message in (
        (rows[:-1] + b"?", {}, "sha256 differs"),
        (None, {}, "is missing though"),
        (rows, {"checkpoint": "/elsewhere"}, "does not match its fingerprint"),
        (rows, {"version": 9}, "is of version 9"),
    ):
        shard.unlink() if content is None else shard.write_bytes(content)
        marker.write_text(json.dumps({**record, **changes}))
        with pytest.raises(VtrError, match=message):
            read_embeddings(load_embeddings(str(tmp_path)), str(tmp_path))


def test_other_models_and_data_are_refused(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    flags = EmbedFlags(checkpoint, data.uri, str(tmp_path / "e"), workers=0)
    embed(flags)
    other = capsule_checkpoint(tmp_path / "other", data, "cosine")
    videos = toy_videos(tmp_path / "videos")
    again = toy_dataset(tmp_path / "clips")[-1]
    with pytest.raises(
        VtrError, match=r"none holds no embeddings: it has no embeddings\.json; make them with vtr embed"
    ):
        run("evaluate", [checkpoint, "--data", data.uri, "--embeddings", str(tmp_path / "none")])
    with pytest.raises(VtrError, match="which is none of --data"):
        dual = dual_checkpoint(tmp_path / "dual", videos)
        run("evaluate", [dual, "--data", videos.uri, "--embeddings", flags.out])
    found = load_embeddings(flags.out)
    with pytest.raises(VtrError, match="holds embeddings by the model"):
        found.check("0" * 64, data, flags.out)
    if again.fingerprint != data.fingerprint:
        with pytest.raises(VtrError, match="already holds other embeddings"):
            embed(replace(flags, checkpoint=other, data=again.uri))
