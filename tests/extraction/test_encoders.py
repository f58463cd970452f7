"""Extraction with pretrained encoders: what is stored of videos, in this process and on Ray, and of files in Python."""

import json
from pathlib import Path

import numpy as np
import pytest

import vtr_core
from pipelines.extract.command import ExtractFlags, extract, run
from tests.builders.pretrained import save_clip, save_xclip
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.encoders.encoder import encoder
from vtr_core.video.streams import write_video

SECONDS = {"short": 2, "long": 7}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Films of random blocks, five frames a second."""
    folder = tmp_path_factory.mktemp("films")
    generator = np.random.default_rng(0)
    for name, seconds in SECONDS.items():
        blocks = generator.integers(0, 256, (seconds * 5, 6, 8, 3), np.uint8).repeat(8, 1).repeat(8, 2)
        write_video(str(folder / f"{name}.mp4"), [(k / 5, pixels) for k, pixels in enumerate(blocks)], None, None, 5)
    lines = [{"id": name, "caption": f"a {name} film", "video": f"{name}.mp4"} for name in SECONDS]
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_clip(folder / "clip")
    save_xclip(folder / "xclip", frames=4)
    return folder


def flags(films: Path, out: Path, recipe: str, **changes: object) -> ExtractFlags:
    settings = {"captions": str(films / "captions.jsonl"), "recipe": (recipe,), "workers": 0, **changes}
    return ExtractFlags(str(films), str(out), **settings)  # type: ignore[arg-type]


def files(films: Path, out: Path, recipe: str) -> dict[str, np.ndarray]:
    """The rows of whole films, by `--features-only`."""
    run(flags(films, out, recipe, features_only=True, captions=None))
    return {file.stem: np.load(file).astype(np.float32) for file in out.rglob("*.npy")}


def stored(data: Manifest) -> dict[str, np.ndarray]:
    rows = RowGroupReader(data, ["clip_id", "video"]).read_arrow(row_groups(data)[0])
    cells = [np.frombuffer(cell, np.float16).astype(np.float32) for cell in rows["video"].to_pylist()]
    return dict(zip(rows["clip_id"].to_pylist(), cells, strict=True))


def test_a_clip_is_the_mean_of_its_frames_unit_vectors(films: Path, models: Path, tmp_path: Path) -> None:
    """With its encoder's name and fingerprint; not scaled, whatever --normalise says; and in Python the same."""
    name = f"hf:{models / 'clip'}"
    rows = files(films, tmp_path / "npy", name)
    assert {video: array.shape for video, array in rows.items()} == {"short": (2, 24), "long": (7, 24)}
    assert np.allclose(np.linalg.norm(rows["long"], axis=1), 1, atol=1e-3)
    (data,) = extract(flags(films, tmp_path / "data", name, pool="mean", normalise=True)).manifests
    (recorded,) = data.source["recipes"]
    assert (recorded["name"], recorded["fingerprint"]) == (name, encoder(name).fingerprint)
    clips = stored(data)
    for video, array in rows.items():
        np.testing.assert_allclose(clips[video], array.mean(axis=0), atol=1e-3)
    encoded = vtr_core.load(f"encoder:{name}").encode_video([films / f"{video}.mp4" for video in clips])
    means = np.stack(list(clips.values()))
    np.testing.assert_allclose(encoded, means / np.linalg.norm(means, axis=1, keepdims=True), atol=2e-3)


def test_a_video_models_rows_are_windows_at_their_rate(films: Path, models: Path, tmp_path: Path) -> None:
    """Four frames, two a second: seven seconds are three whole windows and a half one; a clip's rows are its time's."""
    name = f"hf:{models / 'xclip'}"
    rows = files(films, tmp_path / "npy", name)
    assert {video: array.shape for video, array in rows.items()} == {"short": (1, 24), "long": (4, 24)}
    lines = [
        {"id": "all", "caption": "a film", "video": "long.mp4"},
        {"id": "end", "caption": "its end", "video": "long.mp4", "start": 4.0, "end": 5.9},
    ]
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    requested = flags(films, tmp_path / "data", name, pool="mean", captions=str(tmp_path / "captions.jsonl"))
    (data,) = extract(requested).manifests
    clips = stored(data)
    np.testing.assert_allclose(clips["all"], rows["long"].mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(clips["end"], rows["long"][2], atol=1e-3)


@pytest.mark.long
@pytest.mark.integration
def test_rays_workers_load_the_encoder_by_name(films: Path, models: Path, tmp_path: Path, local_ray: None) -> None:
    name = f"hf:{models / 'clip'}"
    here = extract(flags(films, tmp_path / "here", name))
    remote = extract(flags(films, tmp_path / "ray", name, workers=None))
    assert [manifest.fingerprint for manifest in here.manifests] == [
        manifest.fingerprint for manifest in remote.manifests
    ]
