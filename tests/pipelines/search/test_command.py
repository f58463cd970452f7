"""`vtr index` and `vtr search`: what is found is what the evaluation's scores say, and every fault is named."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.cli import run
from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from pipelines.search.command import SearchFlags
from pipelines.search.search import search
from tests.builders.dual_checkpoints import CONCEPTS, capsule_checkpoint, dual_checkpoint
from tests.builders.toy import ToyVideos, toy_dataset, toy_videos, written
from vtr_core.analysis.transforms import Transform
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.embedded_rows import embed
from vtr_core.embedding.rankings import rankings
from vtr_core.errors import ConfigError, DatasetError, VtrError
from vtr_core.retrieval.index.index import load_index
from vtr_core.retrieval.search.index_search import indexed_data
from vtr_core.similarity import cosine, generalized_jaccard, hybrid
from vtr_core.storage import locate
from vtr_core.systems.dual.dual_embeddings import embed_dual
from vtr_core.train.checkpoint import load_model

QUERY = "Caption number1 of video number2"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="module")
def data(home: Path) -> Manifest:
    return toy_videos(home / "videos", frames_of=(3, 1, 4, 0, 5, 2, 2, 6))


@pytest.fixture(scope="module")
def checkpoint(home: Path, data: Manifest) -> str:
    return dual_checkpoint(home / "dual", data)


@pytest.fixture(scope="module")
def place(home: Path, data: Manifest, checkpoint: str) -> str:
    index(IndexFlags(checkpoint, data.uri, str(home / "index")))
    return str(home / "index")


def found(capsys: pytest.CaptureFixture[str], flags: SearchFlags) -> dict:
    capsys.readouterr()
    search(replace(flags, json=True))
    return json.loads(capsys.readouterr().out)


def test_an_index_says_what_is_in_it(place: str, data: Manifest, checkpoint: str) -> None:
    marker = json.loads((Path(place) / "index.json").read_text())
    assert (marker["num_items"], marker["sizes"]) == (7, {"concept": 3, "latent": 4})  # v3 has no frames
    assert (marker["checkpoint"], marker["data_fingerprint"]) == (checkpoint, data.fingerprint)
    assert (marker["kind"], marker["similarity"], marker["backend"]) == ("dual", "jaccard", "exact")
    assert not [file for file in Path(place).iterdir() if file.suffix not in (".json", ".npy", ".arrow")]


def test_scores_are_those_of_the_evaluation(
    place: str, data: Manifest, checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = embed_dual(load_model(checkpoint), data)
    kept = rows.video_present
    asked = rows.captions.index(QUERY)
    spaces = [torch.from_numpy(space) for space in rows.text.values()]
    videos = [torch.from_numpy(space[kept]) for space in rows.video.values()]
    latent = cosine(spaces[0], videos[0])[asked][None]
    concept = generalized_jaccard(spaces[1].sigmoid(), videos[1].sigmoid())[asked][None]
    for space, expected in (
        ("hybrid", hybrid(latent, concept, 0.6, "query")[0]),
        ("latent", latent[0]),
        ("concept", concept[0]),
    ):
        hits = found(capsys, SearchFlags((QUERY,), index=place, k=4, space=space))["hits"]  # type: ignore[arg-type]
        order = np.argsort(-expected.numpy(), kind="stable")[:4]
        names = [name for name, has in zip(rows.video_id, kept, strict=True) if has]
        assert [hit["video_id"] for hit in hits] == [names[i] for i in order]
        np.testing.assert_allclose([hit["score"] for hit in hits], expected[order], atol=1e-5)


def test_candidates_and_k(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = found(capsys, SearchFlags((QUERY,), index=place))
    few = found(capsys, SearchFlags((QUERY,), index=place, k=2, candidates=3))
    assert len(whole["hits"]) == 7
    assert "3 candidates from latent space of 7" in few["scoring"]
    assert len(few["hits"]) == 2
    scores = {hit["video_id"]: hit["score"] for hit in whole["hits"]}
    assert all(hit["score"] == scores[hit["video_id"]] for hit in few["hits"])
    best_latent = sorted(whole["hits"], key=lambda hit: -hit["latent"])[:3]
    assert {hit["video_id"] for hit in few["hits"]} <= {hit["video_id"] for hit in best_latent}


def test_a_transform_sharpens_concepts_alone(place: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Transform("jaccard", 5.0, 0.0, 2.0).write(str(home / "transform.json"))
    plain = found(capsys, SearchFlags((QUERY,), index=place))["hits"]
    sharp = found(capsys, SearchFlags((QUERY,), index=place, transform=str(home / "transform.json")))["hits"]
    latent = {hit["video_id"]: hit["latent"] for hit in plain}
    assert all(hit["latent"] == latent[hit["video_id"]] for hit in sharp)
    assert {hit["video_id"]: hit["concept"] for hit in sharp} != {hit["video_id"]: hit["concept"] for hit in plain}
    assert all({tag["name"] for tag in hit["tags"]} <= set(CONCEPTS) for hit in sharp)
    assert all(sum(tag["share"] for tag in hit["tags"]) == pytest.approx(0.4) for hit in plain)  # all three concepts


def test_a_table_is_printed(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("search", [QUERY, "--index", place, "--k", "3"])
    shown = capsys.readouterr().out
    assert "0.6 latent + 0.4 concept" in shown
    assert "<b>caption</b>" in shown
    assert sum(line.lstrip().startswith(("1 ", "2 ", "3 ", "4 ")) for line in shown.splitlines()) == 3


@pytest.mark.parametrize(
    "changes", [{"model.num_concepts": None}, {"model.latent_dim": None}], ids=["latent", "concept"]
)
def test_models_of_one_space(
    changes: dict[str, object], data: Manifest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "i")
    index(IndexFlags(dual_checkpoint(tmp_path / "c", data, changes), data.uri, place))
    hits = found(capsys, SearchFlags((QUERY,), index=place))["hits"]
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert (hits[0]["latent"] is None, hits[0]["concept"] is None) == (
        "model.latent_dim" in changes,
        "model.num_concepts" in changes,
    )
    assert bool(hits[0]["tags"]) == ("model.latent_dim" in changes)
    with pytest.raises(ConfigError, match="the model has no hybrid space"):
        search(SearchFlags((QUERY,), index=place, space="hybrid"))


@pytest.mark.parametrize("similarity", ["dot", "cosine", "neg_euclidean"])
def test_clips_of_a_joint_space_have_the_scores_of_the_evaluation(
    similarity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clips = toy_dataset(tmp_path / "d", clips_of=[2, 3, 1, 4])[0]
    checkpoint = capsule_checkpoint(tmp_path / "c", clips, similarity)
    record = index(IndexFlags(checkpoint, clips.uri, str(tmp_path / "i")))
    assert (record.kind, record.num_items, record.similarity) == ("joint", 10, similarity)
    hits = found(capsys, SearchFlags(("video number3",), index=str(tmp_path / "i"), k=10))["hits"]
    loaded = load_model(checkpoint)
    config = loaded.config
    rows = embed(loaded.model, config.model.inputs.features, clips, loaded.vocabulary, row_groups(clips), 100)
    (ranking,) = [one for one in rankings(rows) if one.name == "t2va"]
    scores = np.asarray(ranking.scores(similarity)(slice(9, 10), slice(0, 10)))[0]  # type: ignore[arg-type]
    np.testing.assert_allclose([hit["score"] for hit in hits], np.sort(scores)[::-1], atol=1e-5)
    assert hits[0]["item_id"] in {f"v{v}:{c}" for v in range(4) for c in range(4)}
    assert hits[0]["item_id"].split(":")[0] == hits[0]["video_id"]
    assert all(hit["start"] == float(hit["item_id"].split(":")[1]) == hit["end"] - 1 for hit in hits)
    search(SearchFlags(("video number3",), index=str(tmp_path / "i"), k=3, page=str(tmp_path / "hits.html")))
    said = capsys.readouterr().out
    assert all(f"{hit['item_id']}  0:0{hit['start']:.0f}–0:0{hit['end']:.0f}" in said for hit in hits[:3])
    page = (tmp_path / "hits.html").read_text()
    assert page.count("data:image/svg+xml") == 3  # of a data set without thumbnails
    with pytest.raises(ConfigError, match="--page is for one query"):
        search(SearchFlags(index=str(tmp_path / "i"), topics="t.txt", page="p.html"))
    with pytest.raises(ConfigError, match="which has one space and no concepts"):
        search(SearchFlags(("video number3",), index=str(tmp_path / "i"), space="latent"))


def test_topics_become_a_run_and_infap(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "topics.txt").write_text("501 Find shots of video number2\n502 zzz\n503 caption number1\n")
    best = found(capsys, SearchFlags(("video number2",), index=place, k=7))["hits"]
    lines = [f"1501 0 {hit['video_id']} 1 {int(hit['rank'] == 2)}" for hit in best]
    (tmp_path / "judgements.txt").write_text("\n".join([*lines, "1502 0 v1 1 1"]) + "\n")
    files = {name: str(tmp_path / f"{name}.txt") for name in ("topics", "run", "judgements")}
    flags = SearchFlags(index=place, **files)
    values = found(capsys, flags)
    rows = [line.split() for line in (tmp_path / "run.txt").read_text().splitlines()]
    assert [row[:4] for row in rows[:7]] == [["501", "Q0", hit["video_id"], str(hit["rank"])] for hit in best]
    assert [float(row[4]) for row in rows[:7]] == pytest.approx([hit["score"] for hit in best], abs=1e-6)
    assert {row[0] for row in rows} == {"501", "503"}
    assert [score["value"] for score in values["scores"]] == pytest.approx([0.5, 0.0], abs=1e-4)
    assert values["infap"] == pytest.approx(0.25, abs=1e-4)
    search(flags)
    shown = capsys.readouterr().out
    assert "topic 502: no word of 'zzz' is known; nothing found" in shown
    assert "mean  infAP 0.25" in shown


def test_candidates_find_the_same(
    data: Manifest,
    checkpoint: str,
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipelines.index.indexing.load_faiss", lambda: None)
    monkeypatch.setattr("vtr_core.retrieval.search.index_search.candidates_of", lambda *_: AllItems())
    record = index(IndexFlags(checkpoint, data.uri, str(tmp_path / "i"), backend="ivf-pq"))
    assert record.backend == "ivf-pq"
    near = found(capsys, SearchFlags((QUERY,), index=str(tmp_path / "i"), k=3, candidates=7))
    exact = found(capsys, SearchFlags((QUERY,), index=place, k=3, candidates=7))
    assert near["hits"] == exact["hits"]
    assert "(ivf-pq)" in near["scoring"]


class AllItems:
    """Candidates of a small index."""

    def find(self, queries: np.ndarray, count: int) -> list[np.ndarray]:
        return [np.arange(count)] * len(queries)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{q}"], "--index"),
        (["{q}", "--index", "{index}", "--topics", "t"], "give queries, each in quotes, or --topics FILE"),
        (["  ", "--index", "{index}"], "a query is empty"),
        (["{q}", "--index", "{index}", "--k", "0"], "--k is 0; it must be 1 or more"),
        (["{q}", "--index", "{index}", "--run", "r"], "belong to batch mode"),
        (["zzz qqq", "--index", "{index}"], "no word of the query 'zzz qqq' is among the"),
        (["{q}", "--index", "none"], "is not an index"),
        (["{q}", "--index", "{index}", "--checkpoint", "none"], "is not a checkpoint"),
        (["{q}", "--index", "{index}", "--checkpoint", "{other}"], "the index was made with the model"),
        (["{q}", "--index", "{index}", "--transform", "none.json"], "none.json"),
        (["{q}", "--index", "{index}", "--normalise", "train"], "keeps no ranges of training scores"),
        (["{q}", "--index", "{index}", "--latent-weight", "2"], "must be from 0 to 1"),
        (["--topics", "none.txt", "--index", "{index}"], "none.txt does not exist"),
    ],
)
def test_faults_are_named(
    words: list[str], message: str, place: str, data: Manifest, home: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    other = str(home / "other")
    if "{other}" in words:
        dual_checkpoint(Path(other), data, seed=1)
    with pytest.raises(VtrError) as fault:
        run("search", [word.format(q=QUERY, index=place, other=other) for word in words])
    assert message in str(fault.value)
    assert list(tmp_path.iterdir()) == []


def test_data_that_was_ingested_anew_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = toy_videos(tmp_path / "w")
    index(IndexFlags(dual_checkpoint(tmp_path / "c", data), data.uri, str(tmp_path / "i")))
    manifest = tmp_path / "w" / "manifest.json"
    moved = manifest.read_text()
    manifest.unlink()
    assert found(capsys, SearchFlags((QUERY,), index=str(tmp_path / "i")))["hits"]  # an index needs no data set
    manifest.write_text(moved)
    for file in (tmp_path / "w").iterdir():
        file.unlink()
    toy_videos(tmp_path / "w", frames_of=(1, 1, 1))
    with pytest.raises(VtrError, match="was ingested again since it was indexed"):
        search(SearchFlags((QUERY,), index=str(tmp_path / "i")))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{c}", "--data", "none", "--out", "o"], "is not a data set"),
        (["none", "--data", "{d}", "--out", "o"], "is not a checkpoint"),
        (["{c}", "--data", "{clips}", "--out", "o"], "is clips/1"),
    ],
)
def test_faults_of_indexing_are_named(
    words: list[str], message: str, data: Manifest, checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clips = toy_dataset(tmp_path / "clips")[0].uri if "{clips}" in words else ""
    with pytest.raises(VtrError) as fault:
        run("index", [word.format(c=checkpoint, d=data.uri, clips=clips) for word in words])
    assert message in str(fault.value)
    assert not (tmp_path / "o").exists()


def test_several_data_sets_are_indexed_as_one(home: Path, data: Manifest, checkpoint: str) -> None:
    words, options = WordTable.load(data), IngestOptions(videos_per_shard=2, max_words=data.schema.max_words)
    other, twin = (
        written(ToyVideos((2, 2), prefix=prefix), home / prefix, options, words)[0] for prefix in ("other", "v")
    )
    index(IndexFlags(checkpoint, f"{data.uri} + {other.uri}", str(home / "both")))
    index(IndexFlags(checkpoint, other.uri, str(home / "second")))
    both, alone, second = (load_index(locate(str(home / name))) for name in ("both", "index", "second"))
    assert [one.item_id for one in both.items] == [one.item_id for one in (*alone.items, *second.items)]
    vectors = [one.shards[0].tensors["latent"] for one in (both, alone, second)]
    np.testing.assert_array_equal(vectors[0], np.concatenate(vectors[1:]))
    assert indexed_data(str(home / "both"), both.record) is not None
    with pytest.raises(ConfigError, match="leave out the weights"):
        index(IndexFlags(checkpoint, f"2 * {data.uri} + {other.uri}", str(home / "none")))
    with pytest.raises(DatasetError, match="the id v0 is in several data sets"):
        index(IndexFlags(checkpoint, f"{data.uri} + {twin.uri}", str(home / "none")))
