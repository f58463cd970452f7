"""The interactive explanation, served: its page, its JSON, and whom it refuses."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import replace
from threading import Thread

import pytest

from tests.builders.dual_toys import hybrid, query, videos
from vtr_core.analysis.transforms import Transform
from vtr_core.embedding.video_ranking import DualQuery
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.explained_queries import ExplainSession
from vtr_core.retrieval.explain.explanation import ExplainOptions
from vtr_core.retrieval.explain.html_pages import render_explorer
from vtr_core.retrieval.explain.key_frames import Picture, read_pictures
from vtr_core.serving.applications import Explorer, explorer_app
from vtr_core.serving.server import AppServer
from vtr_core.storage import locate

JPEG = b"\xff\xd8\xff\xe0 picture"


def embed(text: str) -> DualQuery:
    if text == "zzz":
        raise InputError("no word of the query 'zzz' is known")
    if text == "crash":
        raise RuntimeError("secret detail")
    return query(text, seed=0)


def explorer_page(nonce: str, **changes: object) -> str:
    values = {
        "preset": "hybrid-toy",
        "step": 7,
        "data": "data/test",
        "similarity": "jaccard",
        "num_concepts": 14,
        "num_videos": 9,
        "concept_weight": 0.4,
        "longest_query": 1000,
        "transform": Transform("jaccard", 2.5, 0.0, 1.0),
        "query": "",
    }
    return render_explorer(nonce=nonce, **{**values, **changes})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """One for all tests: each start looks through all that is loaded, which is much in a process of tests."""
    folder = tmp_path_factory.mktemp("frames")
    (folder / "v3.jpg").write_bytes(JPEG)
    frames = locate(str(folder))
    session = ExplainSession(videos(), hybrid(), embed, {"a dog runs": [2]}, ExplainOptions(hits=3, tags=5))

    def picture(video: str) -> Picture:
        found = read_pictures(frames, [video])[video]
        return replace(found, when="0:01–0:02") if video == "v3" else found

    explorer = Explorer(session, explorer_page, picture)
    made = AppServer("127.0.0.1", 0, lambda address: explorer_app(explorer, address))
    thread = Thread(target=made.run)
    thread.start()
    yield made
    made.stop()
    thread.join()


def ask(
    server: AppServer, path: str, host: str | None = None, method: str = "GET"
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.address.port, timeout=3600)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.address.port}")
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, response.headers, response.read()
    connection.close()
    return found


def test_the_page_runs_its_own_script_alone(server: AppServer) -> None:
    status, headers, content = ask(server, "/")
    policy = headers["Content-Security-Policy"]
    nonce = policy.split("script-src 'nonce-")[1].split("'")[0]
    assert status == 200
    assert f'<script nonce="{nonce}">'.encode() in content
    assert "unsafe" not in policy
    assert ask(server, "/")[1]["Content-Security-Policy"] != policy
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


def test_sliders_change_ranking_and_causality(server: AppServer) -> None:
    status, headers, content = ask(server, "/search?q=a+dog+runs")
    plain = json.loads(content)
    sharp = json.loads(ask(server, "/search?q=a+dog+runs&a=6&b=0.5&p=3")[2])
    assert status == 200
    assert headers["Content-Type"].startswith("application/json")
    assert plain["query"] == "a dog runs"
    assert plain["right_rank"] >= 1
    assert [hit["rank"] for hit in plain["hits"]] == [1, 2, 3]
    assert [hit["when"] for hit in plain["hits"]] == [
        "0:01–0:02" if hit["video_id"] == "v3" else "" for hit in plain["hits"]
    ]
    assert sharp["causality_few"] != plain["causality_few"]
    assert [hit["score"] for hit in sharp["hits"]] != [hit["score"] for hit in plain["hits"]]


def test_key_frames_are_those_of_known_videos(server: AppServer) -> None:
    assert ask(server, "/keyframe?video=v3")[1:][1] == JPEG
    status, headers, content = ask(server, "/keyframe?video=v4")
    assert (status, headers["Content-Type"]) == (200, "image/svg+xml")
    assert content.startswith(b"<svg")
    assert ask(server, "/keyframe?video=../v3")[0] == 404


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/search?q=", 400, "the query is empty"),
        ("/search?q=zzz", 400, "no word of the query"),
        ("/search?q=dog&a=0", 400, "scale"),
        ("/search?q=dog&p=many", 400, "p is 'many'; it must be a number"),
        ("/search?q=dog&b=nan", 400, "b is 'nan'; it must be finite"),
        (f"/search?q={'a' * 1001}", 400, "1000 are allowed"),
        ("/elsewhere", 404, "there is /, /search"),
        ("/../../etc/passwd", 404, "there is /"),
    ],
)
def test_faults_are_json_with_a_message(server: AppServer, path: str, status: int, message: str) -> None:
    found, headers, content = ask(server, path)
    assert found == status
    assert headers["Content-Type"].startswith("application/json")
    assert message in json.loads(content)["error"]


def test_what_fails_inside_is_not_told_outside(server: AppServer, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, content = ask(server, "/search?q=crash")
    assert status == 500
    assert json.loads(content) == {"error": "the server failed; its terminal says why"}
    assert ask(server, "/search?q=dog")[0] == 200
    assert "secret detail" in capsys.readouterr().err


def test_other_methods_are_refused_as_json(server: AppServer) -> None:
    status, _, content = ask(server, "/search?q=dog", method="POST")
    assert status == 405
    assert "error" in json.loads(content)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "a@127.0.0.1:{port}",
        ":{port}",
    ],
)
def test_a_rebound_name_gets_nothing(server: AppServer, host: str) -> None:
    status, _, content = ask(server, "/search?q=dog", host.format(port=server.address.port))
    assert status == 403
    assert "hits" not in json.loads(content)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_this_machine_s_names_are_allowed(server: AppServer, host: str) -> None:
    assert ask(server, "/search?q=dog", host.format(port=server.address.port))[0] == 200


def test_the_page_quotes_what_it_is_given() -> None:
    evil = '"><script>alert(1)</script>'
    page = explorer_page("n", preset=evil, data=evil, query=evil)
    assert "<script>alert" not in page
    assert page.count("<script") == 1


def test_the_page_says_how_much_of_a_hybrid_decision_concepts_make() -> None:
    assert "concepts make 40" in explorer_page("n")
    assert "concepts make" not in explorer_page("n", concept_weight=1.0)
