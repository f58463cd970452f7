"""The whole path on a store: ingest, train, be killed, resume, evaluate, explain. What comes out is that of a disk."""

import json
import sys
from pathlib import Path

import pytest

from pipelines.cli import main, run
from pipelines.train.command import TrainFlags, train
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.toy import toy_dataset
from tests.drills.runs import STEPS, assert_equal_runs, config, kill_group, start_command, wait_until
from tests.s3.proxy import Answer, Proxy
from tests.s3.store import KEY, SECRET, Store, fetch
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.retrieval.embed import embedding_job as job
from vtr_core.retrieval.embed.stored_embeddings import load_embeddings
from vtr_core.storage import locate

pytestmark = pytest.mark.integration
WORLD = ["--num-clips", "600", "--dim-2d", "16", "--dim-3d", "16", "--dim-audio", "8", "--videos-per-shard", "20"]
"""The fixture `world`, as flags."""


def vtr(store: Store, *words: str) -> str:
    """The output of a command that succeeds and shows no secret."""
    process = start_command(words, env=store.env)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    assert SECRET not in output
    return output


@pytest.fixture(scope="module")
def on_disk(world: Path, local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run on local disk."""
    out = tmp_path_factory.mktemp("disk") / "run"
    train(config(), TrainFlags(data=str(world), out=str(out)))
    return out


@pytest.mark.long
def test_the_whole_path(on_disk: Path, world: Path, store: Store, folder: str, tmp_path: Path) -> None:
    data, run = f"{folder}/world", f"{folder}/run"
    vtr(store, "ingest", "synthetic", *WORLD, "--out", data)
    assert Manifest.load(f"{data}/train").fingerprint == Manifest.load(str(world / "train")).fingerprint

    file = tmp_path / "config.json"
    file.write_text(json.dumps(config(**{"training.checkpoint_every": 1}).model_dump(mode="json")))
    process = start_command(["train", "--config", str(file), "--data", data, "--out", run], env=store.env)
    wait_until(lambda: storage.exists(locate(run) / "checkpoints" / "step-00000003" / "checkpoint.json"), process)
    kill_group(process)
    assert not storage.exists(locate(run) / "checkpoints" / f"step-{STEPS:08d}")
    vtr(store, "train", "--resume", run)
    assert_equal_runs(on_disk, fetch(run, tmp_path / "run"))
    _assert_no_secret(tmp_path / "run")

    printed = vtr(store, "evaluate", run, "--data", f"{data}/test", "--out", f"{folder}/figures.json")
    expected = vtr(store, "evaluate", str(on_disk), "--data", str(world / "test"), "--out", str(tmp_path / "f.json"))
    assert "X-Amz-Signature" in printed
    assert "X-Amz-Signature" not in expected
    figures, same = storage.read_json(locate(f"{folder}/figures.json")), json.loads((tmp_path / "f.json").read_text())
    assert figures["sets"]["test"]["directions"] == same["sets"]["test"]["directions"]

    pages = f"{folder}/pages"
    printed = vtr(store, "explain", run, "--capsules", "--data", f"{data}/test", "--out", pages, "--min-videos", "1")
    assert f"{pages}/activations.html" in printed
    assert b"X-Amz-" not in b"".join(storage.read_bytes(page) for page in storage.children(locate(pages)))


@pytest.mark.long
def test_embeddings_and_an_index_on_a_store_are_those_of_a_disk(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SHARD_ROWS", 2)
    data = toy_dataset(tmp_path / "data")[0]
    checkpoint, result = capsule_checkpoint(tmp_path / "model", data), []
    for place in (folder, str(tmp_path)):
        embedded, index = f"{place}/embedded", f"{place}/index"
        run("embed", [checkpoint, "--data", data.uri, "--out", embedded, "--workers", "0"])
        run("evaluate", [checkpoint, "--data", data.uri, "--embeddings", embedded, "--out", f"{place}/figures.json"])
        run("index", ["--embeddings", embedded, "--out", index])
        capsys.readouterr()
        run("search", ["video number1", "--index", index, "--json"])
        figures = storage.read_json(locate(f"{place}/figures.json"))["sets"]
        result.append((load_embeddings(embedded).shards, figures, json.loads(capsys.readouterr().out)))
    assert result[0] == result[1]


def _assert_no_secret(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert SECRET.encode() not in content
            assert KEY.encode() not in content


@pytest.mark.parametrize(
    "words",
    [
        ["ingest", "synthetic", "--out", "{}/data"],
        ["train", "capsule-howto-tiny", "--data", "{}/data"],
        ["train", "--resume", "{}/run"],
        ["evaluate", "{}/run", "--data", "{}/data"],
    ],
    ids=lambda words: words[0],
)
def test_expired_credentials_end_a_command_with_one_line(
    words: list[str], folder: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    proxy.always = Answer(400, "ExpiredToken", SECRET)
    monkeypatch.setattr(sys, "argv", ["vtr", *(word.format(folder) for word in words)])
    with pytest.raises(SystemExit) as end:
        main()
    output = "".join(capfd.readouterr())
    assert end.value.code == 2
    (line,) = [line for line in output.splitlines() if "StorageError" in line]
    assert "credentials have expired; renew them" in line
    assert "Traceback" not in output
    assert SECRET not in output
