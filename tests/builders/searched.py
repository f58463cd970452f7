"""A served index of clips whose captions and ids are those of somebody who means harm."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

from pipelines.serve.command import ServeFlags
from pipelines.serve.serve import serving
from tests.builders.dual_checkpoints import dual_checkpoint
from tests.builders.toy import toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.index.index import Shard, save_index
from vtr_core.retrieval.index.items import Item
from vtr_core.serving.server import AppServer
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
