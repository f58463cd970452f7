"""Saved tokens of CLIP: every layout of a file gives the same row, every fault its reason."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.arrays import stored_videos
from vtr_core.data.sources.clip_tokens import ClipTokens
from vtr_core.data.sources.source import KEPT, Drops, VideoSource
from vtr_core.errors import InputError

GRID, DIM, FRAMES = 2, 3, 4
GENERATOR = np.random.default_rng(0)
TOKENS = GENERATOR.standard_normal((FRAMES, 1 + GRID**2, DIM)).astype(np.float32)
TEXT = GENERATOR.standard_normal((3, DIM)).astype(np.float32)
TABLE = (("a", "one", "train"), ("b", "two", "val"), ("a", "...", "train"), ("a", "three", "train"), ("c", "x", "test"))


class World:
    def __init__(self, root):
        self.root = root
        self.tokens, self.text = root / "tokens", root / "text"
        self.tokens.mkdir()
        self.text.mkdir()
        self.table(TABLE)
        for video, captions in (("a", 3), ("b", 1), ("c", 1)):
            np.save(self.tokens / f"{video}.npy", TOKENS)
            np.save(self.text / f"{video}.npy", TEXT[:captions])

    def table(self, rows):
        lines = ["id,caption,split", *(",".join(row) for row in rows)]
        (self.root / "captions.csv").write_text("\n".join(lines) + "\n")

    def source(self, **settings):
        usual = {
            "table": str(self.root / "captions.csv"),
            "token_folder": str(self.tokens),
            "text_folder": str(self.text),
            "grid": GRID,
        }
        return ClipTokens(**{**usual, **settings})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def rows(source, drops=None):
    drops = Drops() if drops is None else drops
    videos = [source.video(video, drops) for video in source.videos(drops)]
    return {video.video_id: video for video in videos if video is not None}


def test_a_row_has_all_tokens_and_a_vector_for_each_caption_that_holds_a_word(world):
    source, drops = world.source(), Drops()
    assert isinstance(source, VideoSource)
    assert [(f.name, f.dim) for f in source.features()] == [("video", (1 + GRID**2) * DIM), ("text", DIM)]
    assert [(video.video_id, video.split) for video in source.videos(Drops())] == [
        ("a", "train"),
        ("b", "val"),
        ("c", "test"),
    ]
    video = rows(source, drops)["a"]
    assert video.captions == ("one", "three")
    np.testing.assert_array_equal(video.features["video"], TOKENS.reshape(FRAMES, -1).astype(np.float16))
    np.testing.assert_array_equal(video.features["text"], TEXT[[0, 2]].astype(np.float16))
    assert drops.counts == {"empty_caption": 1}


LAYOUTS = {
    "flat": lambda path: np.save(path, TOKENS.reshape(FRAMES, -1)),
    "fortran": lambda path: np.save(path, np.asfortranarray(TOKENS)),
    "float16": lambda path: np.save(path, TOKENS.astype(np.float16)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_tokens(world, layout):
    LAYOUTS[layout](world.tokens / "b.npy")
    expected = TOKENS.reshape(FRAMES, -1).astype(np.float16)
    np.testing.assert_array_equal(rows(world.source())["b"].features["video"], expected)


def test_without_a_grid_a_frame_is_one_vector(world):
    for video in "abc":
        np.save(world.tokens / f"{video}.npy", TOKENS[:, 0])
    source = world.source(grid=None)
    assert [f.dim for f in source.features()] == [DIM, DIM]
    np.testing.assert_array_equal(rows(source)["a"].features["video"], TOKENS[:, 0].astype(np.float16))


NAN = np.where(TOKENS[1, 2, 0] == TOKENS, np.nan, TOKENS)
TOKEN_FAULTS = {
    "unreadable": (b"?", "unreadable_file", "is not a .npy file"),
    "no_frames": (TOKENS[:0], "no_frames", "holds no frame"),
    "nan": (NAN, "not_finite", "NaN or infinite"),
    "beyond_float16": (TOKENS * 1e6, "not_finite", "exceed the range of float16"),
    "other_grid": (TOKENS[:, :-1], "wrong_dimension", "has 4 tokens a frame; a 2 × 2 grid has 5"),
    "no_grid": (TOKENS[:, :4].reshape(FRAMES, -1), "wrong_dimension", "has 12 values a frame; a 2 × 2 grid has 5"),
    "other_dim": (TOKENS[..., :2], "wrong_dimension", "has 10 values a frame; this data set has 5 tokens of 3"),
    "rank": (TOKENS[0, 0], "wrong_rank", "not (frames, tokens, dim)"),
    "text": (np.array(["a"] * FRAMES), "not_numeric", "holds <U1"),
}
TEXT_FAULTS = {
    "more": (TEXT[:2], "wrong_count", "has 2 vectors and the video 1 captions"),
    "dim": (TEXT[:1, :2], "wrong_dimension", "has vectors of 2; tokens have 3 values"),
    "nan": (TEXT[:1] * np.nan, "not_finite", "NaN or infinite"),
    "rank": (TEXT[:1, None], "wrong_rank", "not (captions, dim)"),
    "unreadable": (b"PK", "unreadable_file", "is not a .npy file"),
    "missing": (None, "missing_file", "there is no file"),
}


def put(path, content):
    path.unlink()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)


def check_drop(world, reason, message):
    drops = Drops()
    source = world.source()
    assert "b" not in rows(source, drops)
    assert drops.counts == {"empty_caption": 1, reason: 1}
    assert message in drops.examples[reason][0]
    with pytest.raises(InputError, match="--strict"):
        rows(source, Drops(strict=True))


@pytest.mark.parametrize("fault", TOKEN_FAULTS)
def test_tokens_that_cannot_be_used_drop_their_video(world, fault):
    content, reason, message = TOKEN_FAULTS[fault]
    put(world.tokens / "b.npy", content)
    check_drop(world, reason, message)


@pytest.mark.parametrize("fault", TEXT_FAULTS)
def test_vectors_that_cannot_be_used_drop_their_video(world, fault):
    content, reason, message = TEXT_FAULTS[fault]
    put(world.text / "b.npy", content)
    check_drop(world, reason, message)


def test_a_test_video_without_usable_tokens_stays_with_captions_of_nothing(world):
    """The number of queries of a test is fixed; of training and validation what cannot be used is dropped."""
    world.table([*TABLE, ("d", "four", "test"), ("e", "five", "val")])
    np.save(world.tokens / "c.npy", NAN)
    drops = Drops()
    videos = rows(world.source(), drops)
    assert videos.keys() == {"a", "b", "c", "d"}
    for video in ("c", "d"):
        assert videos[video].features.keys() == {"text"}
        np.testing.assert_array_equal(videos[video].features["text"], np.zeros((1, DIM)))
    assert drops.counts == {"empty_caption": 1, KEPT: 2, "missing_file": 1}
    drops = Drops()
    assert rows(world.source(keep_missing="never"), drops).keys() == {"a", "b"}
    assert drops.counts == {"empty_caption": 1, "not_finite": 1, "missing_file": 2}


def test_the_captions_of_msrvtt(world):
    """In the order of the annotation file; in the test of 1k-a, the one sentence."""
    folder = world.root / "annotations"
    folder.mkdir()
    video = {"video_id": "b", "split": "train", "start time": 0, "end time": 1}
    sentences = [{"video_id": "b", "caption": "first"}, {"video_id": "b", "caption": "second"}]
    content = {"videos": [video, {**video, "video_id": "c", "split": "test"}], "sentences": sentences}
    (folder / "train_val_videodatainfo.json").write_text(json.dumps(content))
    (folder / "MSRVTT_train.9k.csv").write_text("video_id\nb\n")
    (folder / "MSRVTT_JSFUSION_test.csv").write_text("video_id,sentence\nc,told once\n")
    np.save(world.text / "b.npy", TEXT[:2])
    videos = rows(world.source(table=None, annotations=str(folder), split="1k-a"))
    assert {video: row.captions for video, row in videos.items()} == {"b": ("first", "second"), "c": ("told once",)}
    np.testing.assert_array_equal(videos["b"].features["text"], TEXT[:2].astype(np.float16))


def test_settings_that_contradict_each_other():
    with pytest.raises(ValidationError, match="one of them"):
        ClipTokens(token_folder="f")
    with pytest.raises(ValidationError, match="one of them"):
        ClipTokens(token_folder="f", table="t.csv", annotations="a")
    with pytest.raises(ValidationError, match="1k-a is MSR-VTT's"):
        ClipTokens(token_folder="f", table="t.csv", split="1k-a")


def test_shards_hold_what_the_rows_do(world):
    manifests = written(world.source(), world.root / "out", IngestOptions())
    by_split = {manifest.uri.rsplit("/", 1)[-1]: manifest for manifest in manifests}
    assert {split: manifest.rows for split, manifest in by_split.items()} == {"train": 1, "val": 1, "test": 1}
    data = by_split["train"]
    group = stored_videos(
        RowGroupReader(data, training_columns(data.schema)).read_arrow(row_groups(data)[0]), data.schema
    )
    np.testing.assert_array_equal(group.frames["video"].vectors, TOKENS.reshape(FRAMES, -1).astype(np.float16))
    np.testing.assert_array_equal(group.caption_vectors.vectors, TEXT[[0, 2]].astype(np.float16))
