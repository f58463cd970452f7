"""`vtr explain A B --query` for models of one joint space: ranks, right items, capsules, and every fault named."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.cli import run
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.errors import VtrError
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.systems.capsules.activation_report import responses
from vtr_core.train.checkpoint import load_model

QUERIES = ("video number2", "number3")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def data(home: Path) -> Manifest:
    return toy_dataset(home / "clips", clips_of=[2, 3, 1, 4])[0]


@pytest.fixture(scope="module")
def checkpoint(home: Path, data: Manifest) -> str:
    return capsule_checkpoint(home / "capsules", data)


@pytest.fixture(scope="module")
def baseline(home: Path, data: Manifest) -> str:
    return capsule_checkpoint(home / "baseline", data, "neg_euclidean", "fully-connected")


def test_two_models_beside_each_other(
    data: Manifest, checkpoint: str, baseline: str, tmp_path: Path, own_tracking_store: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    run("explain", [checkpoint, baseline, "--data", data.uri, "--query", *QUERIES, "--out", str(out), "--k", "3"])
    values = json.loads((out / "explanations.json").read_text())
    assert [one["similarity"] for one in values["models"]] == ["dot", "neg_euclidean"]
    assert [one["title"][:2] for one in values["models"]] == ["A:", "B:"]
    assert [query["right"] for query in values["queries"]] == [["v2:0"], []]
    for place, uri in enumerate((checkpoint, baseline)):  # as the index finds them
        loaded = load_model(uri)
        everything = searcher(build_index(loaded, data, "exact"), loaded, SearchOptions()).search(QUERIES, 10)
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


def test_responses_are_activations_over_their_means(data: Manifest, checkpoint: str) -> None:
    """The mean over the data set's clips of a capsule's responses to them is 1."""
    loaded = load_model(checkpoint)
    clips = [f"v{video}:{clip}" for video, count in enumerate([2, 3, 1, 4]) for clip in range(count)]
    found = responses(loaded, data, QUERIES, clips)
    assert found is not None
    assert sorted(found.items) == clips
    for name in ("video", "audio"):
        heard = [parts[name] for parts in found.items.values() if name in parts]
        np.testing.assert_allclose(np.mean(heard, axis=0), 1, rtol=1e-5)
    assert found.texts.shape == (2, 4)
    assert [len(names) for names in found.names.values()] == [4, 4, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{c}", "--data", "{d}", "--query", "zzz"], "no word of the query 'zzz'"),
        (["{c}", "--data", "{d}", "--query", "video", "--space", "concept"], "leave out --space"),
        (["{c}", "--data", "{d}", "--query", "video", "--k", "0"], "--k is 0"),
        (["{c}", "{dual}", "--data", "{d}", "--query", "video"], "compare models of one kind"),
        (["{dual}", "{c}", "--data", "{v}", "--query", "video"], "needs one of 'hybrid_encoder'"),
        (["{c}", *["{c}"] * 6, "--data", "{d}", "--query", "video"], "a page has room for 6"),
        (["{c}", "--data", "{d}", "--query", "video", "--keyframes", "none"], "none does not exist"),
    ],
)
def test_faults_are_named(
    words: list[str], message: str, data: Manifest, checkpoint: str, home: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    names = {"c": checkpoint, "d": data.uri, "dual": str(home / "dual"), "v": str(home / "videos")}
    if "{dual}" in words and not (home / "dual").exists():
        dual_checkpoint(home / "dual", toy_videos(home / "videos"))
    with pytest.raises(VtrError) as fault:
        run("explain", [*(word.format(**names) for word in words), "--out", "o"])
    assert message in str(fault.value)
    assert not (tmp_path / "o").exists()
