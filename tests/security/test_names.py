"""Ids, paths, splits and file names that would lead out of a folder: dropped and counted, an error under --strict."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import Toy, toy_dataset, written
from tests.fuzz.worlds import WORLDS, ingest
from vtr_core import storage
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.files import check_id, check_label, check_path
from vtr_core.data.sources.pairs import Pairs
from vtr_core.errors import CheckpointError, ConfigError, DatasetError, InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import locate
from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint
from vtr_core.unusable import Reason, UnusableError

OUTSIDE = (
    "../secret",
    "../../secret",
    "/secret",
    "a/../../secret",
    "..",
    ".",
    "",
    "a\\b",
    "a\nb",
    "a\0b",
    "\u202e",
    "x" * 300,
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_no_file_name(name: str) -> None:
    with pytest.raises(UnusableError) as caught:
        check_id(name)
    assert caught.value.reason is Reason.UNSAFE_ID


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/x", "s3://bucket/x", "a\\..\\x", "a\0b", "x" * 300, "a/" * 2000]
)
def test_what_leads_out_of_a_folder(path: str) -> None:
    with pytest.raises(UnusableError):
        check_path(path)


@pytest.mark.parametrize("label", ["a\nb", "a\0b", "\u2028", "\ud800", "x" * 5000])
def test_what_is_no_label(label: str) -> None:
    with pytest.raises(UnusableError):
        check_label(label)


ESCAPES = {
    "howto100m": ("captions.csv", "v3,1,8,bake", "../secret,1,8,bake"),
    "howto100m_json": ("captions.json", '"v3"', '"../secret"'),
    "youcook2": ("validation_youcook.csv", "3,1,8,peel,v3", "3,1,8,peel,../secret"),
    "crosstask": ("videos_val.csv", "23521,v3", "23521,../../secret"),
    "mining_youtube": ("list.txt", "v3", "../secret"),
    "msrvtt": ("annotations/test_videodatainfo.json", "video3", "../secret"),
    "msrvtt_videos": ("annotations/test_videodatainfo.json", "video3", "../secret"),
    "pairs_jsonl": ("table.jsonl", "lips/v2.npy", "../secret.npy"),
    "pairs_csv": ("table.csv", "lips/v2.npy", "/secret.npy"),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_no_adapter_reads_outside_its_folders(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the id leads to exists and is not opened; its row is dropped, --strict names the annotations."""
    world, (file, good, bad) = WORLDS[name], ESCAPES[name]
    root = tmp_path / "in"
    root.mkdir()
    world.write(root)
    for place in (tmp_path / "secret.npy", root / "secret.npy"):
        np.save(place, np.ones((10, 4), np.float32))
    text = (root / file).read_text()
    assert good in text
    (root / file).write_text(text.replace(good, bad))
    opened: list[str] = []
    monkeypatch.setattr("vtr_core.storage.read_bytes", _spy(opened))
    with pytest.raises(InputError, match=rf"{file}.*unsafe_id|unsafe_id.*{file}|annotations.*unsafe_id"):
        ingest(world.source(root), tmp_path / "strict", strict=True)
    ingest(world.source(root), tmp_path / "out", strict=False)
    assert not [path for path in opened if "secret" in path]
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        ["in", "out", "secret.npy"],
        ["in", "out", "secret.npy", "strict"],
    )


def _spy(opened: list[str]) -> object:
    read = storage.read_bytes

    def spying(location: object) -> bytes:
        opened.append(str(location))
        return read(location)  # type: ignore[arg-type]

    return spying


@pytest.mark.parametrize("split", ["../outside", "/tmp/outside", "a/b", "..", "x" * 300])
def test_a_split_is_a_folder_of_the_output(split: str, tmp_path: Path) -> None:
    rows = [{"id": str(i), "caption": "a b", "video": "v.npy", "split": split if i else "train"} for i in range(3)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "table.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.save(tmp_path / "in" / "v.npy", np.ones((4, 3)))
    source = Pairs(table=str(tmp_path / "in" / "table.jsonl"))
    ingest(source, tmp_path / "deep" / "out", strict=False)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert Manifest.load(str(tmp_path / "deep" / "out" / "train")).rows == 1
    with pytest.raises(InputError, match=r"table\.jsonl, row 2.*unsafe_id"):
        ingest(source, tmp_path / "deep" / "strict", strict=True)


@pytest.mark.parametrize("split", ["../outside", "/tmp/outside", "_ingest", "a/b"])
def test_a_split_that_was_asked_for_is_checked(split: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be a folder"):
        written(Toy(), tmp_path / "out", IngestOptions(splits={"train": 0.5, split: 0.5}))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", ["shard", "vocabulary", "vectors"])
def test_a_manifest_names_files_of_its_folder(change: str, tmp_path: Path) -> None:
    toy_dataset(tmp_path / "toy")
    file = tmp_path / "toy" / "manifest.json"
    value = json.loads(file.read_text())
    value.pop("fingerprint")
    match change:
        case "shard":
            value["shards"][0]["file"] = "../../secret.parquet"
        case "vocabulary":
            value["vocabulary"]["file"] = "/etc/passwd"
        case _:
            value["vocabulary"].update(vectors="../secret.safetensors", word_dim=3)
    file.write_text(json.dumps({**value, "fingerprint": fingerprint(value)}))
    with pytest.raises(DatasetError, match=r"manifest\.json names the file .*not in its folder"):
        Manifest.load(str(tmp_path / "toy"))


@pytest.mark.parametrize("name", ["../elsewhere", "/elsewhere", 7, None])
def test_the_best_checkpoint_is_one_of_the_run(name: object, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "best.json").write_text(json.dumps({"checkpoint": name}))
    with pytest.raises(CheckpointError, match=r"best\.json"):
        find_checkpoint(locate(tmp_path))
