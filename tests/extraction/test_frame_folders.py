"""Tokens from frames, by a tiny random backbone in the place of a model of open_clip."""

import pickle

import numpy as np
import pytest
from PIL import Image
from tests.data.sources.tiny_clip import DIM, GRID, SIZE, TinyClip, tiny_tokenizer
from vtr_core.data.sources.clip.frames import ClipFrames
from vtr_core.data.sources.clip.open_clip_backbone import OpenClipBackbone
from vtr_core.data.sources.clip.video_images import read_images

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.sources.clip import open_clip_loading
from vtr_core.data.sources.kept import KEPT
from vtr_core.data.sources.source import Drops, VideoSource
from vtr_core.errors import InputError
from vtr_core.storage import locate

BACKBONE = OpenClipBackbone(TinyClip(), tiny_tokenizer)


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    """The names that backbones were loaded by."""
    names = []

    def load(name, weights, device):
        names.append((name, weights, device))
        return BACKBONE

    monkeypatch.setattr(open_clip_loading, "load_backbone", load)
    return names


@pytest.fixture
def source(tmp_path):
    generator = np.random.default_rng(0)
    for video, count in (("a", 25), ("b", 3), ("c", 2)):
        (tmp_path / "frames" / video).mkdir(parents=True)
        for number in range(count):
            values = generator.integers(0, 256, (16, 20, 3), np.uint8)
            Image.fromarray(values).save(tmp_path / "frames" / video / f"frame{number}.png")
    rows = ("a,one bird,train", "a,?,train", "a,two dogs run,train", "b,three,val", "c,four,test", "d,five,test")
    (tmp_path / "t.csv").write_text("\n".join(["id,caption,split", *rows]) + "\n")
    return ClipFrames(frame_folder=str(tmp_path / "frames"), table=str(tmp_path / "t.csv"), frames=4)


def rows(source, drops):
    found = [source.video(video, drops) for video in source.videos(drops)]
    return {video.video_id: video for video in found if video is not None}


def test_a_row_has_the_tokens_of_sampled_frames_and_the_vectors_of_captions(source, tmp_path):
    assert isinstance(source, VideoSource)
    assert [(f.name, f.dim) for f in source.features()] == [("video", (1 + GRID**2) * DIM), ("text", DIM)]
    drops = Drops()
    found = rows(source, drops)
    for video, captions, numbers in (("a", ("one bird", "two dogs run"), (0, 8, 16, 24)), ("b", ("three",), (0, 1, 2))):
        names = [f"frame{number}.png" for number in numbers]
        images = read_images(locate(str(tmp_path / "frames" / video)), names, SIZE)
        tokens = BACKBONE.tokens(images).reshape(len(names), -1).astype(np.float16)
        assert found[video].captions == captions
        np.testing.assert_array_equal(found[video].features["video"], tokens)
        vectors = BACKBONE.captions(captions).astype(np.float16)
        np.testing.assert_array_equal(found[video].features["text"], vectors)
    assert found["d"].features.keys() == {"text"}
    assert not found["d"].features["text"].any()
    assert drops.counts == {"empty_caption": 1, KEPT: 1}


def test_videos_that_cannot_be_read_are_dropped(source, tmp_path):
    (tmp_path / "frames" / "a" / "frame8.png").write_bytes(b"?")
    for file in (tmp_path / "frames" / "b").iterdir():
        file.unlink()
    (tmp_path / "frames" / "b" / "notes.txt").touch()
    drops = Drops()
    assert rows(source, drops).keys() == {"c", "d"}
    assert drops.counts == {"empty_caption": 1, "unreadable_file": 1, "no_frames": 1, KEPT: 1}
    assert "frame8.png" in drops.examples["unreadable_file"][0]
    with pytest.raises(InputError, match="--strict"):
        rows(source, Drops(strict=True))


def test_the_backbone_does_not_travel(source, loaded):
    """A plan is sent to every task; each loads the model once, the planning process for its sizes alone."""
    source.features()
    assert len(pickle.dumps(source)) < 2000
    assert loaded == [("ViT-B-32", "openai", "cpu")]
    rows(source, Drops())
    assert len(loaded) == 2


def test_it_is_ingested(source, tmp_path):
    manifests = written(source, tmp_path / "out", IngestOptions())
    assert {m.uri.rsplit("/", 1)[-1]: m.rows for m in manifests} == {"train": 1, "val": 1, "test": 2}
    assert manifests[0].source["weights"] == "openai"
