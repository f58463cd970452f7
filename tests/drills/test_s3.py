"""A store that holds data, checkpoints and metrics, and is away for half a minute."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.conftest import Record, Undisturbed
from tests.drills.runs import assert_equal_runs, config, events, points, start_command, wait_until
from tests.s3.proxy import Proxy
from tests.s3.store import SECRET, Store, fetch, running_store, send
from vtr_core import storage
from vtr_core.storage import locate

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
AWAY_S = 30


@pytest.fixture
def store() -> Iterator[Store]:
    with running_store() as running:
        yield running


@pytest.fixture
def proxy(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A port before the store that can be closed; this process and its commands reach the store through it."""
    between = Proxy(store.endpoint)
    for name, value in {**store.env, "AWS_ENDPOINT_URL": between.endpoint}.items():
        monkeypatch.setenv(name, value)
    yield between
    between.refuse()


def test_a_store_that_refuses_connections_is_waited_for(
    world: Path,
    tmp_path: Path,
    undisturbed: Undisturbed,
    record: Record,
    store: Store,
    proxy: Proxy,
) -> None:
    expected = undisturbed()
    folder = store.folder()
    data, run = f"{folder}/world", f"{folder}/run"
    send(world, data)
    file = tmp_path / "config.json"
    file.write_text(config(**{"training.checkpoint_every": 1}).model_dump_json())
    process = start_command(["train", "--config", str(file), "--data", data, "--out", run])
    saved = locate(run) / "checkpoints" / "step-00000003" / "checkpoint.json"
    wait_until(lambda: storage.exists(saved), process)
    proxy.refuse()
    fault = time.time()
    time.sleep(AWAY_S)
    proxy.requests.clear()
    proxy.accept()
    back = time.time()
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    assert SECRET not in output
    found = fetch(run, tmp_path / "run")
    assert_equal_runs(expected, found)
    assert any(request.method == "GET" and ".parquet" in request.path for request in proxy.requests)
    assert not events(found, "checkpoint_failed", "bad_shard", "restarted")
    first = next(point["time"] for point in points(found) if point["time"] > back)
    what = f"the S3 store of data and checkpoints refuses connections for {AWAY_S} s"
    record(what, "by itself", found, seconds=first - fault)
