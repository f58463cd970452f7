"""`vtr serve`: its JSON is that of a search, its pages run nothing of others, and whom it refuses."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.datastructures import URL
from starlette.requests import Request

from pipelines.serve.command import ServeFlags, main
from pipelines.serve.serve import serving
from tests.builders.searched import HOSTILE, KINDS, ask, dual_index, served
from vtr_core.analysis.transforms import Transform
from vtr_core.errors import ConfigError
from vtr_core.retrieval.index.index import load_index
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.serving.engine import Shard
from vtr_core.serving.server import AppServer
from vtr_core.storage import locate
from vtr_core.train.checkpoint import load_model

QUERY = "Caption number1 of video number2"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    return dual_index(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def server(index: str) -> Iterator[AppServer]:
    with served(index) as made:
        yield made


def _ids(server: AppServer, rest: str) -> list[str]:
    return [hit["item_id"] for hit in ask(server, f"/api/search?q={quote(QUERY)}{rest}")[2]["hits"]]


def test_hits_are_those_of_a_search_in_pages(server: AppServer, index: str) -> None:
    found = load_index(locate(index))
    (hits,) = searcher(found, load_model(found.record.checkpoint, "cpu"), SearchOptions()).search([QUERY], 40)
    assert hits is not None
    assert _ids(server, "&k=40") == [hit.item_id for hit in hits]
    first, second = (ask(server, f"/api/search?q={quote(QUERY)}&k=30&offset={at}")[2] for at in (0, 30))
    assert [hit["item_id"] for hit in first["hits"] + second["hits"]] == [hit.item_id for hit in hits]
    assert [hit["score"] for hit in first["hits"]] == [hit.score for hit in hits[:30]]
    assert (first["next_offset"], second["next_offset"]) == (30, None)
    assert second["hits"][0]["rank"] == 31


def test_an_answer_names_the_words_that_are_not_known(server: AppServer) -> None:
    assert ask(server, f"/api/search?q={quote(QUERY + ' zyzzyva')}&k=1")[2]["not_known"] == ["zyzzyva"]
    assert ask(server, f"/api/search?q={quote(QUERY)}&k=1")[2]["not_known"] == []


def test_a_filter_leaves_scores_and_order_as_they_are(server: AppServer) -> None:
    all_hits = ask(server, f"/api/search?q={quote(QUERY)}&k=40")[2]["hits"]
    found = ask(server, f"/api/search?q={quote(QUERY)}&k=40&filter={quote('kind=' + KINDS[1])}")[2]
    expected = [hit for hit in all_hits if hit["metadata"]["kind"] == KINDS[1]]
    assert found["num_items"] == len(expected) == 20
    assert [(hit["item_id"], hit["score"]) for hit in found["hits"]] == [(h["item_id"], h["score"]) for h in expected]
    assert _ids(server, "&filter=kind%3Dnone") == []
    started = [hit["item_id"] for hit in all_hits if 3 <= hit["start"] < 5]
    assert _ids(server, f"&filter={quote('start>=3')}&filter={quote('start<5')}") == started
    assert len(started) == 2


def test_queries_that_wait_together_are_answered_as_alone(server: AppServer) -> None:
    alone = {k: _ids(server, f"&k={k}") for k in range(1, 13)}
    with ThreadPoolExecutor(12) as pool:
        together = dict(zip(alone, pool.map(lambda k: _ids(server, f"&k={k}"), alone), strict=True))
    assert together == alone
    asked = json.dumps({"queries": [QUERY, "zzz unknown", "video"], "k": 2, "filter": [f"kind={KINDS[0]}"]})
    assert ask(server, "/api/search", asked.encode())[0] == 400
    asked = json.dumps({"queries": [QUERY, "video"], "k": 2, "filter": [f"kind={KINDS[0]}"]})
    answers = ask(server, "/api/search", asked.encode())[2]["answers"]
    assert [len(answer["hits"]) for answer in answers] == [2, 2]
    assert [hit["item_id"] for hit in answers[0]["hits"]] == _ids(server, f"&k=2&filter={quote('kind=' + KINDS[0])}")


def test_an_item_says_why_it_is_found(server: AppServer) -> None:
    status, _, item = ask(server, f"/api/items/v2?q={quote(QUERY)}")
    hit = next(hit for hit in ask(server, f"/api/search?q={quote(QUERY)}&k=40")[2]["hits"] if hit["item_id"] == "v2")
    assert (status, item["why"]["score"]) == (200, hit["score"])
    shown = {tag["name"]: tag["value"] for tag in item["why"]["contributions"]}
    assert shown == pytest.approx({tag["name"]: tag["share"] for tag in hit["tags"]})
    assert {name: item[name] for name in ("caption", "when", "metadata")} == {
        "caption": f"5 {HOSTILE}",
        "when": "0:05–0:07",
        "metadata": {"kind": KINDS[1]},
    }
    assert ask(server, "/api/items/v2")[2]["why"] is None
    assert ask(server, "/api/items/none")[0] == 404
    assert ask(server, "/thumbnail?id=v2")[1]["Content-Type"] == "image/svg+xml"
    assert ask(server, "/thumbnail?id=..%2Fmodel")[0] == 404


def test_a_transform_of_concepts_changes_ranking_and_explanation(server: AppServer, index: str, tmp_path: Path) -> None:
    """As `vtr search --transform` ranks, for as long as it is asked for."""
    found = load_index(locate(index))
    transform = Transform("jaccard", 6.0, 0.5, 3.0)
    loaded = load_model(found.record.checkpoint, "cpu")
    (hits,) = searcher(found, loaded, SearchOptions(transform=transform)).search([QUERY], 40)
    assert hits is not None
    plain = ask(server, f"/api/search?q={quote(QUERY)}&k=40")[2]["hits"]
    sharp = ask(server, f"/api/search?q={quote(QUERY)}&k=40&scale=6&shift=0.5&power=3")[2]["hits"]
    assert [(hit["item_id"], hit["score"]) for hit in sharp] == [(hit.item_id, hit.score) for hit in hits]
    assert [hit["score"] for hit in sharp] != [hit["score"] for hit in plain]
    trained, changed = (ask(server, f"/api/items/v2?q={quote(QUERY)}{rest}")[2]["why"] for rest in ("", "&scale=6"))
    assert 0 < trained["causality_few"] <= trained["causality_many"] <= 1
    assert changed["score"] != trained["score"]
    assert changed["contributions"] != trained["contributions"]
    assert ask(server, f"/api/search?q={quote(QUERY)}&k=40")[2]["hits"] == plain
    transform.write(str(tmp_path / "t.json"))
    with served(index, transform=str(tmp_path / "t.json")) as improved:
        assert b'"power": 3.0, "scale": 6.0, "shift": 0.5' in ask(improved, "/")[2]


@pytest.mark.parametrize("path", ["/", f"/?q={quote(HOSTILE)}"])
def test_pages_run_their_own_script_alone(server: AppServer, path: str) -> None:
    status, headers, content = ask(server, path)
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert "unsafe" not in policy
    assert b"onerror" not in content
    assert content.count(b"<script") == content.count(b'<script nonce="')
    assert b"http://" not in content
    assert b"https://" not in content


def test_the_interface_is_described(server: AppServer) -> None:
    document = ask(server, "/api/openapi.json")[2]
    hit = ask(server, "/api/search?q=video&k=1")[2]["hits"][0]
    assert set(document["components"]["schemas"]["FoundItem"]["properties"]) == set(hit)
    answers = {"/api/health": "Health", "/api/columns": "Columns", "/api/items/v1?q=video": "ItemAnswer"}
    for path, schema in answers.items():
        answer = ask(server, path)[2]
        assert set(document["components"]["schemas"][schema]["properties"]) == set(answer)
    assert ask(server, "/api/columns")[2]["columns"][0] == {"name": "kind", "values": sorted(KINDS)}


def test_metrics_count_requests_by_route(server: AppServer) -> None:
    ask(server, "/api/items/v1")
    text = ask(server, "/metrics")[2].decode()
    assert 'vtr_requests_total{path="/api/items/{item_id:path}",status="200"}' in text
    assert "vtr_index_items 40.0" in text
    assert "v1" not in text


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/search?q=", 400, "the query is empty"),
        ("/api/search?q=zzz", 400, "no word of the query"),
        (f"/api/search?q={'a' * 1001}", 400, "1000 are allowed"),
        ("/api/search?q=video&k=many", 400, "k: Input should be a valid integer, unable to parse string as an integer"),
        ("/api/search?q=video&k=0", 400, "k: "),
        ("/api/search?q=video&offset=990", 400, "go beyond the first 1000"),
        ("/api/search?q=video&filter=kind", 400, "write name=value"),
        ("/api/search?q=video&filter=colour%3Dred", 400, "the index has no column 'colour'"),
        ("/api/search?q=video&scale=0", 400, "scale: Input should be greater than 0, not '0'"),
        ("/api/search?q=video&shift=nan", 400, "shift: Input should be a finite number"),
        ("/api/items/v1?q=video&power=many", 400, "power: Input should be a valid number"),
        ("/elsewhere", 404, "Not Found"),
        ("/../../etc/passwd", 404, "Not Found"),
    ],
)
def test_faults_are_json_with_a_message(server: AppServer, path: str, status: int, message: str) -> None:
    found, _, content = ask(server, path)
    assert found == status
    assert message in content["error"]


def test_bodies_are_limited(server: AppServer) -> None:
    status, _, content = ask(server, "/api/search", b"x" * 70_000)
    assert (status, list(content)) == (413, ["error"])
    assert ask(server, "/api/search", b"[]")[0] == 400
    assert ask(server, "/api/search", b'{"queries": ["video"], "K": 3}')[0] == 400


def test_a_rebound_name_gets_nothing(server: AppServer) -> None:
    status, _, content = ask(server, "/api/search?q=video", Host=f"evil.example:{server.address.port}")
    assert (status, list(content)) == (403, ["error"])
    assert ask(server, "/api/health", Host=f"LOCALHOST:{server.address.port}")[0] == 200


def test_what_fails_inside_is_not_told_outside(
    server: AppServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("secret detail")

    with monkeypatch.context() as patch:
        patch.setattr(Shard, "why", crash)
        status, _, content = ask(server, "/api/items/v1?q=video")
    assert (status, content) == (500, {"error": "the server failed; its terminal says why"})
    assert ask(server, "/api/items/v1?q=video")[0] == 200
    assert "secret detail" in capsys.readouterr().err


def test_other_machines_need_a_token(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VTR_SERVE_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="give --token"), serving(ServeFlags(index, host="0.0.0.0")):
        pass


@pytest.mark.parametrize("token", ["", "a b", "a b" * 9, "é" * 16, "fifteenfifteenf"])
def test_a_token_of_the_environment_that_nobody_could_need_is_refused(
    token: str, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing secret leaves the variable empty: that must not open the server."""
    monkeypatch.setenv("VTR_SERVE_TOKEN", token)
    with pytest.raises(ConfigError, match=f"VTR_SERVE_TOKEN has {len(token)} characters; .* at least 16"):
        main(["--index", index, "--host", "0.0.0.0"])


def test_the_path_is_the_one_that_is_routed(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some releases of starlette make a request's URL of its Host header, which may hold an open path."""
    monkeypatch.setattr(Request, "url", property(lambda _: URL("http://x/api/health")))
    with served(index, token="secret1secret1secret1") as server:
        assert ask(server, "/api/search?q=video")[0] == 401


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--replicas", "2"], "give --ray, too"),
        (["--token", "a b"], "--token has 3 characters; it is of letters and digits, at least 16"),
        (["--rate", "0"], "--rate is 0; give queries per second, more than 0"),
    ],
)
def test_flags_that_do_not_go_together(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        main(["--index", "x", *words])
