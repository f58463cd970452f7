"""An engine of replicas: its answers are those of one process, also while a replica ends."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import psutil
import pytest

from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.searched import ask, dual_index, served
from tests.builders.toy import toy_dataset
from tests.optional import optional
from vtr_core.retrieval.search.index_search import Hit
from vtr_core.serving.server import AppServer

QUERIES = [f"/api/search?q={quote(f'Caption number1 of video number{n}')}&k=5" for n in range(4)]
pytestmark = pytest.mark.long
_REPLICA = "ServeReplica:vtr-shard"


def test_every_query_is_answered_while_a_replica_ends(local_ray: None, tmp_path: Path) -> None:
    place = dual_index(tmp_path)
    with served(place) as server:
        alone = [ask(server, query)[2] for query in QUERIES]
    with _replicated(place) as server, ThreadPoolExecutor(len(QUERIES)) as clients:
        before, ended = _replicas(), Event()
        answers: list[tuple[int, int, Any]] = []
        asking = [clients.submit(_ask_until, ended, server, number, answers) for number in range(len(QUERIES))]
        try:
            _wait_until(lambda: len(answers) >= 20)
            os.kill(min(before), signal.SIGKILL)
            killed_at = len(answers)
            _wait_until(lambda: len(_replicas() - before) == 1 and len(answers) >= killed_at + 100)
        finally:
            ended.set()
        for client in asking:
            client.result()
    assert len(before) == 2
    assert [(status, content) for _, status, content in answers if status != 200] == []
    for number, _, content in answers:  # sums of other batches differ in their last digits
        assert content["hits"][0]["item_id"] == alone[number]["hits"][0]["item_id"]
        scores, expected = ([hit["score"] for hit in one["hits"]] for one in (content, alone[number]))
        assert scores == pytest.approx(expected, abs=1e-4)


def test_parts_that_read_their_shards_alone_answer_as_the_whole(
    local_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = optional("ray.serve", "serve")
    monkeypatch.setattr("vtr_core.retrieval.embed.embedding_job.SHARD_ROWS", 2)
    data = toy_dataset(tmp_path / "data")[0]
    place = str(tmp_path / "index")
    index(IndexFlags(capsule_checkpoint(tmp_path / "model", data), data.uri, place, shards=2))
    with served(place) as server:
        alone = [ask(server, query)[2]["hits"] for query in QUERIES]
    try:
        with served(place, ray=True, replicas=1, shards=2) as server:
            divided = [ask(server, query)[2]["hits"] for query in QUERIES]
    finally:
        serve.shutdown()
    for found, expected in zip(divided, alone, strict=True):
        assert [hit["item_id"] for hit in found] == [hit["item_id"] for hit in expected]
        assert [hit["score"] for hit in found] == pytest.approx([hit["score"] for hit in expected], abs=1e-4)


def test_the_best_of_shards_are_the_best_of_the_whole() -> None:
    optional("ray.serve", "serve")
    from vtr_core.serving.ray_engine import merged

    def hits(*scored: tuple[str, float]) -> tuple[Hit, ...]:
        return tuple(Hit(rank, item, item, score) for rank, (item, score) in enumerate(scored, start=1))

    first, second = hits(("a", 0.9), ("b", 0.5), ("c", 0.1)), hits(("d", 0.7), ("e", 0.5))
    assert merged([first, second], 4) == hits(("a", 0.9), ("d", 0.7), ("b", 0.5), ("e", 0.5))
    assert merged([None, None], 4) is None


def _ask_until(ended: Event, server: AppServer, number: int, answers: list[tuple[int, int, Any]]) -> None:
    while not ended.is_set():
        status, _, content = ask(server, QUERIES[number])
        answers.append((number, status, content))


@contextmanager
def _replicated(index: str) -> Iterator[AppServer]:
    serve = optional("ray.serve", "serve")
    try:
        with served(index, ray=True, replicas=2) as server:
            yield server
    finally:
        serve.shutdown()


def _replicas() -> set[int]:
    """The processes of replicas of this test's Ray."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        try:
            if _REPLICA in " ".join(process.cmdline()):
                found.add(process.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def _wait_until(holds: Callable[[], bool], limit_s: float = 600) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "that took too long"
        time.sleep(0.05)
