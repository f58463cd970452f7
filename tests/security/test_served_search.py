"""What a page of another site, a request made to cost much, or a guess of the token gets of `vtr serve`."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from pipelines.systems.registry import SYSTEMS
from tests.builders.searched import ask, called, dual_index, searched_app, served
from tests.optional import optional
from vtr_core.errors import ClusterError, DatasetError, InputError, VtrError
from vtr_core.retrieval.explain.pages import Picture
from vtr_core.serving import engine, middleware
from vtr_core.serving.engine import Hits, SearchQuery, Shard, Source
from vtr_core.serving.middleware import Allowance
from vtr_core.serving.server import AppServer

TOKEN = "LettersAndDigits"
SECRET_PLACE = "/home/somebody/data"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    return dual_index(tmp_path_factory.mktemp("attacked"), num_videos=4)


@pytest.fixture(scope="module")
def server(index: str) -> Iterator[AppServer]:
    with served(index) as made:
        yield made


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_nothing(site: str, server: AppServer) -> None:
    assert ask(server, "/api/search?q=video", Sec_Fetch_Site=site)[0] == 403
    assert ask(server, "/api/search", b'{"queries": ["video"]}', Sec_Fetch_Site=site)[0] == 403
    assert ask(server, "/api/search?q=video", Origin="https://evil.example")[0] == 403
    assert ask(server, "/api/search?q=video", Origin="null")[0] == 403


def test_links_and_the_page_itself_are_answered(server: AppServer) -> None:
    assert ask(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert ask(server, "/api/search?q=video", Sec_Fetch_Site="same-origin")[0] == 200
    own = f"http://127.0.0.1:{server.address.port}"
    assert ask(server, "/api/search", b'{"queries": ["video"]}', Origin=own)[0] == 200


def test_a_body_is_json_by_its_type(server: AppServer) -> None:
    """Of another type a browser sends it for any page, without asking this server first."""
    body = b'{"queries": ["video"]}'
    assert ask(server, "/api/search", body)[0] == 200
    assert ask(server, "/api/search", body, Content_Type="text/plain")[0] == 400


def test_filters_are_few(server: AppServer) -> None:
    few, many = "&filter=kind%3Dx" * 16, "&filter=kind%3Dx" * 17
    assert ask(server, f"/api/search?q=video{few}")[0] == 200
    status, _, content = ask(server, f"/api/search?q=video{many}")
    assert status == 400
    assert "at most 16 items" in content["error"]
    body = b'{"queries": ["video"], "filter": [' + b", ".join([b'"kind=x"'] * 17) + b"]}"
    assert ask(server, "/api/search", body)[0] == 400


def test_a_forwarded_address_is_not_believed(server: AppServer) -> None:
    assert not server._server.config.proxy_headers


@pytest.mark.parametrize("slow", ["filters", "search", "why"])
def test_what_takes_long_keeps_other_requests_waiting_no_more(
    slow: str, server: AppServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()
    owner, name = {"filters": (engine, "meeting"), "search": (Shard, "_hits"), "why": (Shard, "_reason")}[slow]
    compute = getattr(owner, name)

    def slowly(*arguments: object) -> object:
        begun.set()
        assert go_on.wait(600)
        return compute(*arguments)

    paths = {
        "filters": "/api/search?q=video&filter=caption~unseen",
        "search": "/api/search?q=video&k=3",
        "why": "/api/items/v1?q=video",
    }
    path = paths.pop(slow)
    with ThreadPoolExecutor(1) as pool, monkeypatch.context() as patch:
        patch.setattr(owner, name, slowly)
        asked = pool.submit(ask, server, path)
        try:
            assert begun.wait(600)
            others = ["/api/health", "/", "/thumbnail?id=v1", "/api/columns", "/api/items/v1"]
            if slow != "search":
                others.append(paths["search"])
            assert [ask(server, other)[0] for other in others] == [200] * len(others)
            assert not asked.done()
        finally:
            go_on.set()
        assert asked.result()[0] == 200


def test_pictures_that_are_read_slowly_keep_nobody_waiting(index: str) -> None:
    """More of them than there are threads to read pictures."""
    go_on = Event()

    def slow_picture(item_id: str) -> Picture:
        assert go_on.wait(600)
        return Picture(0, item_id)

    async def run() -> list[int]:
        app = searched_app(index, picture=slow_picture)
        pictures = [asyncio.ensure_future(called(app, "/thumbnail?id=v1")) for _ in range(100)]
        try:
            others = [(await called(app, path))[0] for path in ("/", "/metrics", "/api/columns", "/api/search?q=video")]
            assert not any(picture.done() for picture in pictures)
        finally:
            go_on.set()
        return [*others, *(status for status, _, _ in await asyncio.gather(*pictures))]

    assert asyncio.run(run()) == [200] * 104


def test_filters_of_several_queries_are_computed_once(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []
    compute = engine.meeting

    def counted(*arguments: Any) -> object:
        computed.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(engine, "meeting", counted)
    body = json.dumps({"queries": ["video"] * 32, "filter": ["start>=0"]}).encode()
    assert asyncio.run(called(searched_app(index), "/api/search", body))[0] == 200
    assert len(computed) == 1


class _Waiting(Shard):
    """Does not answer before it may, where it is told so."""

    go_on: asyncio.Event

    async def search(self, queries: Sequence[SearchQuery]) -> list[Hits]:
        await self.go_on.wait()
        return [()] * len(queries)


def _waiting(index: str) -> _Waiting:
    shard = Source(index, SYSTEMS).shard()
    waiting = _Waiting(shard.record, shard.searcher, shard.catalogue)
    waiting.go_on = asyncio.Event()
    return waiting


def test_more_queries_than_may_wait_are_refused(index: str) -> None:
    async def run() -> list[tuple[int, str]]:
        waiting = _waiting(index)
        app = searched_app(index, engine=waiting)
        body = json.dumps({"queries": ["video"] * 32}).encode()
        asked = [asyncio.ensure_future(called(app, "/api/search", body)) for _ in range(16)]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        health = await called(app, "/api/health")
        waiting.go_on.set()
        answers = [*await asyncio.gather(*asked), health]
        return [(status, headers.get("retry-after", "")) for status, headers, _ in answers]

    answers = asyncio.run(run())
    assert set(answers) == {(200, ""), (503, "1")}
    assert answers[-1] == (200, "")


def test_an_answer_that_takes_too_long_is_given_up(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "ANSWER_S", 0.05)

    async def run() -> tuple[int, bytes]:
        status, _, content = await called(searched_app(index, engine=_waiting(index)), "/api/search?q=video")
        return status, content

    status, content = asyncio.run(run())
    assert status == 503
    assert b"takes longer than 0.05 seconds" in content


def test_queries_of_an_address_are_counted(index: str) -> None:
    """A body of several counts as several; explanations do, pages and pictures do not."""
    app = searched_app(index, rate=1)

    async def run() -> list[int]:
        body = json.dumps({"queries": ["video"] * 31}).encode()
        first = [(await called(app, "/api/search", body))[0], (await called(app, "/api/items/v1?q=video"))[0]]
        refused = [(await called(app, path))[0] for path in ("/api/search?q=video", "/api/items/v1?q=video")]
        refused.append((await called(app, "/api/search", body))[0])
        others = [(await called(app, path))[0] for path in ("/", "/thumbnail?id=v1", "/api/items/v1", "/api/columns")]
        return [*first, *refused, *others, (await called(app, "/api/search?q=video", client="127.0.0.2"))[0]]

    assert asyncio.run(run()) == [200] * 2 + [429] * 3 + [200] * 5


def test_a_query_further_down_counts_for_the_pages_before_it(index: str) -> None:
    app = searched_app(index, rate=1)

    async def run() -> list[int]:
        deep = "/api/search?q=video&k=100&offset=900"
        return [(await called(app, deep))[0] for _ in range(4)]

    assert asyncio.run(run()) == [200, 200, 200, 429]


def test_many_queries_far_down_are_refused(index: str) -> None:
    def answer(queries: int, k: int, offset: int) -> tuple[int, bytes]:
        body = json.dumps({"queries": ["video"] * queries, "k": k, "offset": offset}).encode()
        status, _, content = asyncio.run(called(searched_app(index), "/api/search", body))
        return status, content

    assert answer(32, 100, 0)[0] == answer(3, 100, 900)[0] == 200
    status, content = answer(32, 1, 100)
    assert status == 400
    assert b"32 queries up to hit 101 are 3232 hits; at most 3200 are allowed" in content


def test_an_allowance_is_an_address_s_and_comes_back() -> None:
    now = [0.0]
    allowance = Allowance(per_second=0.5, most=2, clock=lambda: now[0])
    assert [allowance.take("a") for _ in range(3)] == [0, 0, 2]
    assert allowance.take("b", 2) == 0
    assert [allowance.take("2001:db8::1", 2), allowance.take("2001:db8::2"), allowance.take("2001:db8:0:1::1")] == [
        0,
        2,
        0,
    ]
    now[0] = 3
    assert [allowance.take("a"), allowance.take("a")] == [0, 1]
    now[0] = 1000
    assert [allowance.take("a", 5), allowance.take("a")] == [0, 2]  # more than there ever is: all
    assert [allowance.take("fe80::1%eth0", 2), allowance.take("fe80::2%eth0")] == [0, 2]


def test_wrong_tokens_are_counted(index: str) -> None:
    app = searched_app(index, TOKEN)

    async def status(token: str, client: str, path: str = "/api/search?q=video") -> int:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return (await called(app, path, headers=headers, client=client))[0]

    async def run() -> None:
        assert await status(TOKEN, "10.0.0.2") == 200
        for client in ("10.0.0.1", "10.0.0.2"):
            assert [await status("", client) for _ in range(20)] == [401] * 20  # nobody guesses by that
            assert [await status(f"wrong{n}", client) for n in range(10)] == [401] * 10
            assert await status("wrong", client) == 429
            assert await status("", client, "/?token=wrong") == 429
            assert await status("", client, "/api/health") == 200
        assert await status(TOKEN, "10.0.0.1") == 429
        assert await status(TOKEN, "10.0.0.2") == 200  # who shares it had the token before
        assert await status(TOKEN, "10.0.0.3") == 200
        assert (await called(app, "/?token=x", headers={"sec-fetch-site": "cross-site"}, client="10.0.0.4"))[0] == 403

    asyncio.run(run())


@pytest.mark.parametrize("cookie", ["", TOKEN])
@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/?token={token}", "/"),
        ("/?token={token}&q=a%26b", "/?q=a%26b"),
        ("//evil.com/x?token={token}", "/evil.com/x"),
        ("///evil.com?token={token}", "/evil.com"),
        ("/%2Fevil.com?token={token}", "/evil.com"),
        ("%2F%2Fevil.com?token={token}", "/evil.com"),
        ("/%5Cevil.com?token={token}", "/evil.com"),
        ("/%5C/%5Cevil.com?token={token}", "/evil.com"),
        ("/\\evil.com?token={token}", "/evil.com"),
        ("/%09/evil.com?token={token}", "/%09/evil.com"),
        ("/%0d%0aSet-Cookie:a=b?token={token}", "/%0D%0ASet-Cookie%3Aa%3Db"),
        ("https://evil.com/?token={token}", "/https%3A//evil.com/"),
    ],
)
def test_the_token_leaves_the_address_bar_and_leads_nowhere_else(
    target: str, location: str, cookie: str, index: str
) -> None:
    headers = {"cookie": f"vtr_token={cookie}"} if cookie else {}
    app = searched_app(index, TOKEN)
    status, answer, _ = asyncio.run(called(app, target.format(token=TOKEN), headers=headers))
    assert (status, answer["location"]) == (303, location)
    assert ("set-cookie" in answer) == (not cookie)
    assert cookie or "HttpOnly" in answer["set-cookie"]


@pytest.mark.parametrize("letter", ["a", "%20", "é"])
@pytest.mark.parametrize(
    "path", ["/api/items/v1?q={}", "/thumbnail?id={}", "/api/search?q={}", "/api/search?q=a&filter=kind%3D{}", "/?x={}",
             "/api/search?q=a&k={}", "/api/search?q=a&scale={}", "/?{}=x"]
)  # fmt: skip
def test_every_parameter_is_limited(path: str, letter: str, index: str) -> None:
    status, _, content = asyncio.run(called(searched_app(index), path.format(letter * 1001)))
    assert status == 400
    assert b"1000 are allowed" in content


def test_a_query_may_be_as_long_as_a_parameter(index: str) -> None:
    assert asyncio.run(called(searched_app(index), "/api/search?q=video+" + "a" * 994))[0] == 200


def test_texts_of_a_body_are_limited(index: str) -> None:
    for body in ({"queries": ["a" * 1001]}, {"queries": ["video"], "filter": ["kind=" + "a" * 1000]}):
        assert asyncio.run(called(searched_app(index), "/api/search", json.dumps(body).encode()))[0] == 400


@pytest.mark.parametrize("kind", [DatasetError, ClusterError, VtrError, RuntimeError, OSError])
def test_places_of_the_server_are_not_told(
    kind: type[Exception], index: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fails, and wherever: a thumbnail's file, a search, an explanation, a filter."""

    def fails(*_: object) -> None:
        raise kind(f"{SECRET_PLACE} cannot be read")

    def no_picture(item_id: str) -> Picture:
        raise kind(f"{SECRET_PLACE}/{item_id} cannot be read")

    for owner, name in ((Shard, "_hits"), (Shard, "_reason"), (engine, "meeting")):
        monkeypatch.setattr(owner, name, fails)
    app = searched_app(index, picture=no_picture)
    for path in (
        "/thumbnail?id=v1",
        "/api/search?q=video",
        "/api/search?q=video&filter=kind=x",
        "/api/items/v1?q=video",
    ):
        status, _, content = asyncio.run(called(app, path))
        assert status == (503 if issubclass(kind, VtrError) else 500)
        assert b"terminal says why" in content
        assert SECRET_PLACE.encode() not in content
    assert (SECRET_PLACE in caplog.text) == issubclass(kind, VtrError)


def test_replicas_tracebacks_are_not_told() -> None:
    optional("ray.serve", "serve")
    from ray.exceptions import RayTaskError

    from vtr_core.serving.ray_engine import RayEngine

    class Replica:
        def options(self, **_: object) -> "Replica":
            return self

        async def remote(self, *_: object) -> None:
            raise RayTaskError("search", f"{SECRET_PLACE}/code.py", InputError("no concepts")).as_instanceof_cause()

    with pytest.raises(InputError) as refused:
        asyncio.run(RayEngine((Replica(),), None).search([SearchQuery("video", 1)]))  # type: ignore[arg-type]
    assert str(refused.value) == "no concepts"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://["}, 403),
        ({"origin": "http://127.0.0.1@evil.com"}, 403),
        ({"host": "["}, 403),
        ({"content-length": "x"}, 413),
        ({"content-length": "9" * 5000}, 413),
        ({"content-length": "²"}, 413),
        ({"cookie": "=;;=" * 500}, 200),
        ({"authorization": "Bearer"}, 200),
    ],
)
def test_headers_that_are_none_are_refused(headers: dict[str, str], status: int, index: str) -> None:
    assert asyncio.run(called(searched_app(index), "/api/health", headers=headers))[0] == status
