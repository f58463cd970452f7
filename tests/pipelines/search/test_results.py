"""What a search tells of its hits: captions, times, kept columns, links; as a table, JSON and CSV."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

import vtr_core
from pipelines.cli import run
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.errors import InputError
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.index.index import Shard, save_index
from vtr_core.storage import locate
from vtr_core.train.checkpoint import load_model

LINK = "https://e.org/{video_id}?t={start}&c={colour}"


@pytest.fixture(scope="module", params=["clips", "videos"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An index whose items have a kept column: red and blue by turns."""
    home = tmp_path_factory.mktemp(request.param)
    clips = request.param == "clips"
    data = toy_dataset(home / "data", (3, 1, 4, 2))[0] if clips else toy_videos(home / "data", (3, 1, 4, 2, 2, 6))
    checkpoint = capsule_checkpoint(home / "c", data) if clips else dual_checkpoint(home / "c", data)
    index = build_index(load_model(checkpoint), data, "exact")
    colours = ("red", "=blue")
    items = tuple(replace(item, metadata={"colour": colours[row % 2]}) for row, item in enumerate(index.items))
    shard = Shard.of(index.shards[0].tensors, items)
    save_index(locate(str(home / "index")), replace(index, shards=(shard,)))
    return str(home / "index")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    run("search", list(words))
    return capsys.readouterr().out


def test_json_tells_everything(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(told(capsys, "video number2", "--index", place, "--k", "3", "--link", LINK, "--json"))
    for hit in found["hits"]:
        v = hit["video_id"].removeprefix("v")
        assert hit["caption"].endswith(f"video number{v}")
        assert hit["metadata"]["colour"] in ("red", "=blue")
        colour = hit["metadata"]["colour"].replace("=", "%3D")
        assert hit["link"] == f"https://e.org/v{v}?t={int(hit['start'] or 0)}&c={colour}"


def test_several_queries_at_once(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    queries = ["video number2", "xylophone", "video number1"]
    found = json.loads(told(capsys, *queries, "--index", place, "--json"))["queries"]
    assert [one["query"] for one in found] == queries
    assert found[1]["hits"] is None
    for one in (found[0], found[2]):
        alone = json.loads(told(capsys, one["query"], "--index", place, "--json"))["hits"]
        assert [hit["item_id"] for hit in one["hits"]] == [hit["item_id"] for hit in alone]
        scores = [hit["score"] for hit in alone]  # embedded in a batch of another size, they may differ in the last bit
        assert [hit["score"] for hit in one["hits"]] == pytest.approx(scores, abs=1e-5)
    printed = told(capsys, *queries, "--index", place, "--link", "https://e.org/{video_id}")
    assert "no word of 'xylophone' is known" in printed
    assert "caption" in printed
    assert "https://e.org/v" in printed
    with pytest.raises(InputError, match="no word of the query 'xylophone'"):
        run("search", ["xylophone", "zither", "--index", place])


def test_words_that_are_not_known_are_named(place: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    query = "video <b>zyzzyva number2 xylophone zyzzyva"
    words = [query, "--index", place, "--k", "2"]
    unknown = ["b", "zyzzyva", "xylophone"]
    assert json.loads(told(capsys, *words, "--json"))["not_known"] == unknown
    assert "not known: 'b', 'zyzzyva', 'xylophone'" in told(capsys, *words, "--page", str(tmp_path / "hits.html"))
    assert "not known: &#39;b&#39;, &#39;zyzzyva&#39;" in (tmp_path / "hits.html").read_text()
    rows = list(csv.DictReader(io.StringIO(told(capsys, *words, "--csv"))))
    assert {row["not_known"] for row in rows} == {" ".join(unknown)}
    index = vtr_core.Index.open(place)
    with pytest.warns(UserWarning, match="not known: 'b', 'zyzzyva'"):
        assert len(index.search(query, 2)) == 2
    assert index.not_known(query) == tuple(unknown)
    assert "not known" not in told(capsys, "video number2", "--index", place)


def test_csv_has_a_row_for_each_hit(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["video number2", "video number1", "--index", place, "--k", "2", "--link", LINK]
    rows = list(csv.DictReader(io.StringIO(told(capsys, *words, "--csv"))))
    found = json.loads(told(capsys, *words, "--json"))["queries"]
    hits = [(one["query"], hit) for one in found for hit in one["hits"]]
    assert len(rows) == len(hits) == 4
    for row, (query, hit) in zip(rows, hits, strict=True):
        assert (row["query"], row["item_id"], row["caption"]) == (query, hit["item_id"], hit["caption"])
        assert (float(row["score"]), row["link"]) == (hit["score"], hit["link"])
        assert row["kept_colour"] == hit["metadata"]["colour"]


def test_a_filter_leaves_scores_and_order_as_they_are(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(told(capsys, "video number2", "--index", place, "--k", "50", "--json"))["hits"]
    words = ["video number2", "--index", place, "--k", "50", "--filter", "colour=red", "--json"]
    found = json.loads(told(capsys, *words))
    expected = [hit for hit in whole if hit["metadata"]["colour"] == "red"]
    assert 0 < len(expected) < len(whole)
    for hit, same in zip(found["hits"], expected, strict=True):
        assert (hit["item_id"], hit["score"]) == (same["item_id"], pytest.approx(same["score"], abs=1e-6))
    assert found["scoring"].endswith(f"{len(expected)} meet the filter")
    assert json.loads(told(capsys, *words[:-1], "colour=green", "--json"))["hits"] == []


def test_the_same_in_python(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    index = vtr_core.Index.open(place)
    words = ["video number2", "--index", place, "--filter", "colour=red", "--json"]
    hits = index.search("video number2", filters=["colour=red"])
    assert [hit.item_id for hit in hits] == [hit["item_id"] for hit in json.loads(told(capsys, *words))["hits"]]
    assert index.search_all(["xylophone", "video number2"])[0] is None
    with pytest.raises(InputError, match="no word of the query"):
        index.search("xylophone")
    with pytest.raises(InputError, match="k is 0"):
        index.search("video", 0)
