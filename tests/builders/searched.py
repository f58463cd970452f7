"""A served index of clips whose captions and ids are those of somebody who means harm."""

import asyncio
import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

from pipelines.serve.command import ServeFlags
from pipelines.serve.serve import serving
from pipelines.systems.registry import SYSTEMS
from tests.builders.dual_checkpoints import dual_checkpoint
from tests.builders.toy import toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.retrieval.explain.pages import Picture
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.index.index import Shard, save_index
from vtr_core.retrieval.index.items import Item
from vtr_core.serving.applications import SearchSite, search_app
from vtr_core.serving.engine import Source
from vtr_core.serving.server import Address, AppServer
from vtr_core.storage import locate
from vtr_core.train.checkpoint import load_model

HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>\u202e'
KINDS = ("cooking", "sport & <b>fun</b>")


def dual_index(folder: Path, num_videos: int = 40) -> str:
    """An index of whole videos with hostile captions, every second one of each of `KINDS`."""
    data: Manifest = toy_videos(folder / "videos", frames_of=(3, 1, 4, 2) * (num_videos // 4))
    index = build_index(load_model(dual_checkpoint(folder / "model", data), "cpu"), data, "exact")
    items = [
        Item(item.item_id, item.video_id, float(i), i + 2.0, f"{i} {HOSTILE}", {"kind": KINDS[i % 2]})
        for i, item in enumerate(index.items)
    ]
    shards = Shard.of(index.shards[0].tensors, items)
    save_index(locate(str(folder / "index")), replace(index, shards=(shards,)))
    return str(folder / "index")


@contextmanager
def served(index: str, **flags: Any) -> Iterator[AppServer]:
    """The app of an index, serving in a thread."""
    with serving(ServeFlags(index, port=0, **flags)) as server:
        thread = Thread(target=server.run)
        thread.start()
        yield server
        server.stop()
        thread.join()


def ask(
    server: AppServer, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, Any]:
    """Status, headers and content of an answer; JSON is parsed."""
    connection = http.client.HTTPConnection("127.0.0.1", server.address.port, timeout=3600)
    settings = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        settings.setdefault("Content-Type", "application/json")
    connection.request("GET" if body is None else "POST", path, body, settings)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    kind = response.headers.get("Content-Type", "")
    return response.status, response.headers, json.loads(content) if kind == "application/json" else content


def searched_app(index: str, token: str | None = None, rate: float | None = None, **parts: Any) -> ASGIApp:
    """The app of an index without a server, at 127.0.0.1:80; `parts` of its site are replaced."""
    shard = Source(index, SYSTEMS).shard()
    site = SearchSite(shard, shard.catalogue, lambda item_id: Picture(0, item_id), lambda nonce: f"page {nonce}")
    return search_app(replace(site, **parts), Address("127.0.0.1", 80), token, rate)


async def called(
    app: ASGIApp,
    target: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    client: str = "127.0.0.1",
) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and content of the app's answer to one request, whatever a parser of HTTP would say to it."""
    path, _, query = target.partition("?")
    sent = {"host": "127.0.0.1", **({} if body is None else {"content-type": "application/json"}), **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET" if body is None else "POST",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode("latin-1", "replace"),
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in sent.items()],
        "client": (client, 50000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    messages: list[Message] = []
    requests: list[Message] = [{"type": "http.request", "body": body or b"", "more_body": False}]

    async def receive() -> Message:
        if requests:
            return requests.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    begun, *rest = messages
    content = b"".join(message.get("body", b"") for message in rest)
    return begun["status"], {name.decode(): value.decode() for name, value in begun["headers"]}, content
