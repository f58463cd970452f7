"""`vtr explain --query`: pages of dual encoders and of joint spaces, their JSON and run; every fault named."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mlflow import MlflowClient

from pipelines.cli import run
from pipelines.explain.command import ExplainQueriesFlags, _check
from pipelines.explain.queries import explain
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.analysis.transforms import Transform
from vtr_core.data.manifest import Manifest
from vtr_core.errors import VtrError
from vtr_core.retrieval.explain.explanation import ExplainReport
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.systems.capsules.activation_report import responses
from vtr_core.train.checkpoint import load_model

QUERY = "Caption number1 of video number2"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explain")


@pytest.fixture(scope="module")
def data(home: Path) -> Manifest:
    return toy_videos(home / "videos")


@pytest.fixture(scope="module")
def checkpoint(home: Path, data: Manifest) -> str:
    return dual_checkpoint(home / "dual", data)


@pytest.fixture(scope="module")
def clips(home: Path) -> Manifest:
    return toy_dataset(home / "clips", clips_of=[2, 3, 1, 4])[0]


@pytest.fixture(scope="module")
def capsules(home: Path, clips: Manifest) -> str:
    return capsule_checkpoint(home / "capsules", clips)


@pytest.fixture(scope="module")
def baseline(home: Path, clips: Manifest) -> str:
    return capsule_checkpoint(home / "baseline", clips, "neg_euclidean", "fully-connected")


def test_a_page_and_its_json_are_written_and_logged(
    data: Manifest, checkpoint: str, tmp_path: Path, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "queries.txt").write_text(f"{QUERY}\nvideo number4\tv4\nnumber0\n")
    Transform("jaccard", 4.0, 0.0, 1.0).write(str(tmp_path / "t.json"))
    out = tmp_path / "out"
    files = {"queries": str(tmp_path / "queries.txt"), "out": str(out), "transform": str(tmp_path / "t.json")}
    report = explain(ExplainQueriesFlags(checkpoint, data.uri, k=2, experiment="explain-queries", **files))
    page, values = (out / "explanations.html").read_text(), json.loads((out / "explanations.json").read_text())
    assert values == json.loads(json.dumps(report.to_json()))
    assert [query["right_videos"] for query in values["queries"]] == [["v2"], ["v4"], []]
    assert page.count('<li class="card hit') == 3 * 2 * 2
    assert "&lt;b&gt;caption&lt;/b&gt;" in page
    shown = capsys.readouterr().out
    assert "improved    a = 4, b = 0, p = 1: C@10 40.0 %" in shown
    client = MlflowClient(own_tracking_store)
    (logged,) = client.search_runs([client.get_experiment_by_name("explain-queries").experiment_id])
    assert logged.data.tags["stage"] == "explain"
    files = {file.path for file in client.list_artifacts(logged.info.run_id)}
    assert {"explanations.html", "explanations.json"} <= files


def test_two_models_answer_side_by_side(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    other = dual_checkpoint(tmp_path / "other", data, {"model.latent_dim": None}, seed=1)
    out = tmp_path / "out"
    flags = ExplainQueriesFlags(checkpoint, data.uri, query=(QUERY,), out=str(out), k=2, against=(other,))
    report = explain(flags)
    assert [system.title for system in report.systems] == ["A: hybrid-msrvtt-tiny", "B: hybrid-msrvtt-tiny"]
    alone = explain(ExplainQueriesFlags(other, data.uri, query=(QUERY,), out=str(tmp_path / "b"), k=2))
    assert report.queries[0].answers[1] == alone.queries[0].answers[0]
    page = (out / "explanations.html").read_text()
    assert page.count('<li class="card hit') == 4
    assert "<h3>B: hybrid-msrvtt-tiny" in page
    assert [system.concept_weight for system in report.systems] == [pytest.approx(0.4), 1.0]
    assert page.count("at most 40 %") == page.count("and a latent space</p>") == 1, "said of the hybrid alone"
    assert "Σmin" in page
    for hit in report.queries[0].answers[1].hits:  # of concepts alone
        assert hit.min_sum is not None
        assert hit.max_sum is not None
        assert hit.concept == pytest.approx(hit.min_sum / hit.max_sum, abs=1e-6)


ASKED = ("--query", "video", "--out", "o")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{c}", "--data", "{d}", "--query", "video"], "--out is needed"),
        (["{c}", "--data", "{d}", "--query", "video", "--queries", "q", "--out", "o"], "give --query TEXT… or"),
        (["{c}", "--data", "{d}", "--query", " ", "--out", "o"], "a query is empty"),
        (["{c}", "--data", "{d}", "--query", "zzz", "--out", "o"], "no word of the query 'zzz'"),
        (["{c}", "--data", "{d}", "--queries", "none.txt", "--out", "o"], "none.txt does not exist"),
        (["{c}", "--data", "{d}", *ASKED, "--k", "0"], "--k is 0"),
        (["{c}", "--data", "{d}", *ASKED, "--tagss", "3"], "did you mean --tags?"),
        (["{latent}", "--data", "{d}", *ASKED], "latent space does not have"),
        (["{capsules}", "--data", "{d}", *ASKED], "this model reads clips/1"),
        (["none", "--data", "{d}", *ASKED], "is not a checkpoint"),
        (["{c}", "{c}", "--data", "{d}", *ASKED, "--transform", "t"], "give --transforms, or"),
        (["{c}", "{capsules}", "--data", "{d}", *ASKED], "needs one of 'hybrid_encoder'"),
        (["{capsules}", "{c}", "--data", "{clips}", *ASKED], "compare models of one kind"),
        (["{capsules}", *["{capsules}"] * 6, "--data", "{clips}", *ASKED], "has room for 6"),
        (["{capsules}", "--data", "{clips}", "--query", "zzz", "--out", "o"], "no word of the query 'zzz'"),
        (["{capsules}", "--data", "{clips}", "--space", "concept", *ASKED], "leave out --space"),
        (["{capsules}", "--data", "{clips}", "--keyframes", "k", *ASKED], "k does not exist"),
    ],
)
def test_faults_are_named(
    words: list[str], message: str, data: Manifest, checkpoint: str, clips: Manifest, capsules: str, home: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    latent = home / "latent"
    if "{latent}" in words:
        dual_checkpoint(latent, data, {"model.num_concepts": None})
    names = {"c": checkpoint, "d": data.uri, "latent": latent, "capsules": capsules, "clips": clips.uri}
    with pytest.raises(VtrError) as fault:
        run("explain", [word.format(**names) for word in words])
    assert message in str(fault.value)
    assert not (tmp_path / "o").exists()


def test_several_models_answer_under_a_transform_of_their_own(
    data: Manifest, checkpoint: str, tmp_path: Path, own_tracking_store: str
) -> None:
    assert own_tracking_store
    other, file = dual_checkpoint(tmp_path / "other", data, seed=1), str(tmp_path / "t.json")
    Transform("jaccard", 4.0, 0.0, 1.0).write(file)
    flags = ExplainQueriesFlags(checkpoint, data.uri, query=(QUERY,), out=str(tmp_path / "out"), against=(other,))
    report = explain(replace(flags, transforms=("none", file)))
    assert isinstance(report, ExplainReport)
    assert [system.transform.scale for system in report.systems] == [1.0, 4.0]
    with pytest.raises(VtrError, match="1 --transforms for 2 checkpoints"):
        _check(replace(flags, transforms=(file,)))


QUERIES = ("video number2", "number3")


def test_two_models_beside_each_other(
    clips: Manifest, capsules: str, baseline: str, tmp_path: Path, own_tracking_store: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    run("explain", [capsules, baseline, "--data", clips.uri, "--query", *QUERIES, "--out", str(out), "--k", "3"])
    values = json.loads((out / "explanations.json").read_text())
    assert [one["similarity"] for one in values["models"]] == ["dot", "neg_euclidean"]
    assert [one["title"][:2] for one in values["models"]] == ["A:", "B:"]
    assert [query["right"] for query in values["queries"]] == [["v2:0"], []]
    for place, uri in enumerate((capsules, baseline)):  # as the index finds them
        loaded = load_model(uri)
        everything = searcher(build_index(loaded, clips, "exact"), loaded, SearchOptions()).search(QUERIES, 10)
        for query, expected in zip(values["queries"], everything, strict=True):
            assert expected is not None
            answer = query["answers"][place]
            assert [hit["item_id"] for hit in answer["hits"]] == [hit.item_id for hit in expected[:3]]
            assert [hit["score"] for hit in answer["hits"]] == pytest.approx([hit.score for hit in expected[:3]])
            ranks = [hit.rank for hit in expected if hit.item_id in query["right"]]
            assert answer["right_rank"] == (ranks[0] if ranks else None)
    first = values["queries"][0]["answers"]
    assert all(
        set(hit["units"]) == {"video", *(["audio"] if hit["item_id"][-1] in "03" else [])} for hit in first[0]["hits"]
    )
    assert all(tag["value"] > 1 for hit in first[0]["hits"] for tags in hit["units"].values() for tag in tags)
    assert (first[1]["units"], [hit["units"] for hit in first[1]["hits"]]) == ([], [{}] * 3)
    page = (out / "explanations.html").read_text()
    assert page.count('<li class="card hit') == 2 * 2 * 3
    assert "right item first for" in capsys.readouterr().out


def test_responses_are_activations_over_their_means(clips: Manifest, capsules: str) -> None:
    """The mean over the data set's clips of a capsule's responses to them is 1."""
    loaded = load_model(capsules)
    names = [f"v{video}:{clip}" for video, count in enumerate([2, 3, 1, 4]) for clip in range(count)]
    found = responses(loaded, clips, QUERIES, names)
    assert found is not None
    assert sorted(found.items) == names
    for name in ("video", "audio"):
        heard = [parts[name] for parts in found.items.values() if name in parts]
        np.testing.assert_allclose(np.mean(heard, axis=0), 1, rtol=1e-5)
    assert found.texts.shape == (2, 4)
    assert [len(names) for names in found.names.values()] == [4, 4, 4]
