"""Published files of pooled features become `.npy` files and a table, and what asks for more is refused."""

import csv
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.backbones.davenet import Davenet
from vtr_core.backbones.published_features import convert_features
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.pairs import Pairs
from vtr_core.errors import ConfigError, InputError

RANDOM = np.random.default_rng(0)


def vector(dim: int = 6) -> np.ndarray:
    return RANDOM.random(dim, np.float32)


def youcook() -> list[dict[str, Any]]:
    return [{"id": f"clip{n}", "caption": f"cut the leek {n}", "2d": vector(), "3d": vector(4)} for n in range(3)]


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "table.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tensors_by_id_with_the_captions_of_the_test(tmp_path: Path) -> None:
    features = {s: {f"video{n}": torch.from_numpy(vector(d)) for n in range(2)} for s, d in (("2d", 6), ("3d", 4))}
    torch.save(features, tmp_path / "MSRVTT_JSFUSION_test.pth", _use_new_zipfile_serialization=False)
    (tmp_path / "test.csv").write_text('key,video_id,sentence\nr0,video1,"a man, cooks"\n', encoding="utf-8")
    out = tmp_path / "out"
    file = str(tmp_path / "MSRVTT_JSFUSION_test.pth")
    assert convert_features(file, str(out), str(tmp_path / "test.csv")) == (1, 0)
    (row,) = table(out)
    assert (row["id"], row["caption"], row["audio"]) == ("video1", "a man, cooks", "")
    first, second = features["2d"]["video1"].numpy(), features["3d"]["video1"].numpy()
    expected = np.concatenate([first / np.linalg.norm(first), second / np.linalg.norm(second)])
    np.testing.assert_allclose(np.load(out / row["video"]), expected, rtol=1e-6)
    with pytest.raises(InputError, match="holds no captions; give the table of them: --captions MSRVTT_JSFUSION_test"):
        convert_features(file, str(tmp_path / "again"))
    (tmp_path / "test.csv").write_text("video_id,sentence\nvideo7,a man\n", encoding="utf-8")
    with pytest.raises(InputError, match="video7 is not in"):
        convert_features(file, str(tmp_path / "again"), str(tmp_path / "test.csv"))


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_list_of_clips_is_ingested(protocol: int, tmp_path: Path) -> None:
    clips = youcook()
    clips[2]["id"] = clips[1]["id"]  # of the same video
    clips[1]["2d"] = np.asfortranarray(clips[1]["2d"].astype(">f8"))
    (tmp_path / "youcook_val.pkl").write_bytes(pickle.dumps(clips, protocol=protocol))
    assert convert_features(str(tmp_path / "youcook_val.pkl"), str(tmp_path / "out")) == (3, 0)
    assert [row["id"] for row in table(tmp_path / "out")] == ["clip0", "clip1", "clip1-2"]
    source = Pairs(table=str(tmp_path / "out" / "table.csv"), feature_columns=("video",), pool="max", normalise=False)
    ingest(source, IngestFlags(out=str(tmp_path / "data"), workers=0))
    manifest = Manifest.load(str(tmp_path / "data"))
    assert (manifest.rows, {spec.name: spec.dim for spec in manifest.schema.features}) == (3, {"video": 10})


def test_spectrograms_become_audio_with_the_weights_of_the_network(tmp_path: Path) -> None:
    torch.manual_seed(0)
    clips = [
        {"id": "v1", "caption": ["many", "others"], "eval_caption": "a man cooks", "2d_pooled": vector(6)},
        {"id": "v2", "caption": ["many"], "eval_caption": "a dog", "2d_pooled": vector(6)},
    ]
    for clip, columns in zip(clips, (40, 7), strict=True):
        clip |= {"3d_pooled": vector(4), "audio": torch.randn(40, columns)}
    (tmp_path / "msrvtt_jsfusion_test.pkl").write_bytes(pickle.dumps(clips, protocol=4))
    torch.save({f"DAVEnet.{name}": value for name, value in Davenet().state_dict().items()}, tmp_path / "avlnet.pth")
    out = tmp_path / "out"
    file, weights = str(tmp_path / "msrvtt_jsfusion_test.pkl"), str(tmp_path / "avlnet.pth")
    assert convert_features(file, str(out), davenet=weights) == (2, 2)
    rows = table(out)
    assert [row["caption"] for row in rows] == ["a man cooks", "a dog"]
    assert np.load(out / rows[0]["audio"]).shape == (1024,)
    assert np.isfinite(np.load(out / rows[1]["audio"])).all()
    with pytest.raises(ConfigError, match="out exists; give a new folder"):
        convert_features(file, str(out), davenet=weights)


class Command:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/vtr-was-run",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([Command()], r"it asks for posix\.system, which is no array"),
        ([{**youcook()[0], "2d": Command()}], r"it asks for posix\.system"),
        ([{**youcook()[0], "2d": np.array([{}])}], "values of type O8, which are no numbers"),
        ([{**youcook()[0], "2d": np.ones((2, 3), np.float32)}], r"clip 0, 2d: its shape is \(2, 3\)"),
        ([{**youcook()[0], "3d": np.array([np.nan])}], "or a value is not finite"),
        ([{**youcook()[0], "id": 3}], "has no id, or one that is no text: 3"),
        ([{**youcook()[0], "caption": 3.5}], "has a caption that is no text"),
        ([{**youcook()[0], "audio": np.ones((3, 4))}], "a spectrogram has 40 bands"),
        ({"a": 1}, "holds no clips with 2d and 3d features"),
        ([1, 2], "holds no clips with 2d and 3d features"),
    ],
    ids=["command", "command inside", "objects", "rows", "not finite", "id", "caption", "bands", "names", "numbers"],
)
def test_other_files_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "f.pkl").write_bytes(pickle.dumps(content, protocol=4))
    with pytest.raises(InputError, match=message):
        convert_features(str(tmp_path / "f.pkl"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert not Path("/tmp/vtr-was-run").exists()


def test_no_damage_gets_past_the_reasons(tmp_path: Path) -> None:
    """Bytes that are cut, flipped, or say that terabytes follow."""
    whole = pickle.dumps(youcook(), protocol=4)
    random = np.random.default_rng(1)
    for number in range(300):
        content = bytearray(whole[: random.integers(len(whole)) if number % 3 == 0 else None])
        for place in random.integers(max(1, len(content)), size=3) if number % 3 and content else ():
            content[place] = random.integers(256)
        (tmp_path / "f.pkl").write_bytes(content)
        try:
            convert_features(str(tmp_path / "f.pkl"), str(tmp_path / f"out{number}"))
        except InputError:
            continue
    (tmp_path / "f.pkl").write_bytes(b"\x80\x04\x8e" + (1 << 50).to_bytes(8, "little") + b"x")
    with pytest.raises(InputError, match="is no file of features"):
        convert_features(str(tmp_path / "f.pkl"), str(tmp_path / "terabytes"))
