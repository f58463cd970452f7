"""Requests of chance: whatever comes, the app of a search answers or refuses, and takes little memory."""

import asyncio
import json
import random
import tracemalloc
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.builders.searched import called, dual_index, searched_app
from vtr_core.serving.connections import BODY_BYTES

REQUESTS, MOST_BYTES = 400, 64 * 2**20
ANSWERED = {503, *range(200, 300), *range(400, 500)}
_NAMES = ("q", "k", "offset", "filter", "scale", "shift", "power", "id", "token", "x")
_PATHS = ("/", "/api/search", "/api/items/v1", "/api/columns", "/api/health", "/thumbnail", "/metrics", "/favicon.ico",
          "/api/openapi.json", "/api/items/", "/api//search", "/nothing", "/api/items/../../etc/passwd")  # fmt: skip
_HEADERS = ("host", "origin", "sec-fetch-site", "sec-fetch-mode", "authorization", "cookie", "content-length",
            "content-type", "content-encoding", "transfer-encoding", "expect", "x-forwarded-for", "range")  # fmt: skip
_COLUMNS = ("caption", "kind", "start", "end", "video_id", "item_id", "colour", "", "metadata:kind")
_TEXTS = ("video", "number1", "127.0.0.1", "127.0.0.1:80", "application/json", "same-origin", "navigate", "nan", "-inf",
          "1e999", "0x10", "9" * 5000, "1_0", "\0", "\ud800", "\u202e", "é" * 500, "a " * 400, "%s%n", "{{7*7}}", "<b>",
          "../../etc/passwd", "\r\nX: y", "(a+)+$", "\\", '"', "٣", "", " ")  # fmt: skip


def test_every_request_is_answered_or_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    app = searched_app(dual_index(tmp_path_factory.mktemp("attacked"), num_videos=4), rate=1e6)
    chance = random.Random(54)

    async def run() -> None:
        for _ in range(REQUESTS):
            target, body, headers = _target(chance), _body(chance), _headers(chance)
            status, _, content = await called(app, target, body, headers)
            assert status in ANSWERED, (target, body, headers, content[:1000])
            if status >= 400:
                assert list(json.loads(content)) == ["error"]
        assert (await called(app, "/api/search?q=video"))[0] == 200

    asyncio.run(called(app, "/api/search?q=video"))  # what the first query loads is no request's
    tracemalloc.start()
    try:
        asyncio.run(run())
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def _text(chance: random.Random) -> str:
    if chance.random() < 0.7:
        return chance.choice(_TEXTS)
    return "".join(map(chr, chance.choices(range(0x250), k=chance.choice((1, 10, 100, 2000)))))


def _filter(chance: random.Random) -> str:
    return chance.choice(_COLUMNS) + chance.choice(("=", "!=", "~", "<", "<=", ">", ">=", "")) + _text(chance)


def _number(chance: random.Random) -> str:
    return str(chance.choice((0, 1, -1, 24, 100, 101, 999, 10**9, 10**30, 0.5, 1e-300, 1e300)))


def _target(chance: random.Random) -> str:
    if chance.random() < 0.4:  # a search, most of it right
        filters = "".join(f"&filter={_quoted(_filter(chance))}" for _ in range(chance.choice((0, 1, 3, 16, 17))))
        return f"/api/search?q={_quoted(chance.choice(('video', _text(chance))))}&k={_number(chance)}{filters}"
    values: tuple[Callable[[random.Random], str], ...] = (_text, _number, _filter)
    parameters = [(chance.choice(_NAMES), chance.choice(values)(chance)) for _ in range(chance.choice((0, 1, 2, 40)))]
    return chance.choice(_PATHS) + "?" + "&".join(f"{name}={_quoted(value)}" for name, value in parameters)


def _quoted(text: str) -> str:
    return quote(text, errors="replace")


def _headers(chance: random.Random) -> dict[str, str]:
    if chance.random() < 0.6:
        return {}
    return {chance.choice(_HEADERS): _text(chance) for _ in range(chance.choice((1, 2, 5)))}


def _body(chance: random.Random) -> bytes | None:
    if chance.random() < 0.6:
        return None
    if chance.random() < 0.3:
        return chance.choice(
            (b"[" * 50_000, b'{"queries":' * 5000, b"\xff\xfe", b"", b"null", b"1e999", b"x" * BODY_BYTES)
        )
    values = (["video"] * chance.choice((1, 32, 33)), [_text(chance)], _text(chance), 3, None, {}, [[]])
    members = {"queries": chance.choice(values)}
    if chance.random() < 0.5:
        members["filter"] = [_filter(chance) for _ in range(chance.choice((1, 16, 17)))]
    if chance.random() < 0.5:
        members[chance.choice(("k", "offset", "scale", "filter", "K"))] = chance.choice((1, -1, 10**30, 1.5, "1", None))
    return json.dumps(members).encode()
