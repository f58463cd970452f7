"""Batches of clips, videos, images and pictures: rows and masks by hand, memory that is shared, splits."""

import numpy as np
import torch

from vtr_core.data.batches import clip_batch, frame_batch


def _columns(rows=3):
    generator = np.random.default_rng(0)
    return {
        "video": generator.normal(size=(rows, 4)).astype(np.float16),
        "has_video": np.array([True, False, True]),
        "audio": generator.normal(size=(rows, 2)).astype(np.float16),
        "has_audio": np.ones(rows, bool),
        "tokens": np.array([[1, 2], [3, 0], [0, 0]], np.int32),
        "clip_key": np.arange(rows),
        "video_key": np.zeros(rows, np.int64),
        "caption_key": -np.arange(rows),
        "step": np.full(rows, 7),
    }


def test_columns_become_tensors_without_a_copy():
    columns = _columns()
    batch = clip_batch(columns, ["video"])
    assert batch.rows == 3
    assert set(batch.features) == set(batch.present) == {"video"}
    assert batch.features["video"].dtype == torch.float16
    columns["video"][0, 0] = 9
    assert batch.features["video"][0, 0] == 9
    assert batch.tokens.dtype == torch.int64
    assert batch.text_present.tolist() == [True, True, False]
    assert batch.present["video"].tolist() == [True, False, True]
    assert (batch.keys.clip.tolist(), batch.keys.caption.tolist()) == ([0, 1, 2], [0, -1, -2])
    assert batch.keys[torch.tensor([True, False, True])].clip.tolist() == [0, 2]


def columns() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    video = generator.standard_normal((3, 4, 2)).astype(np.float16)
    return {
        "video": video,
        "video.kept": np.array([4, 1, 0]),
        "video.mean": video.mean(axis=1, dtype=np.float32),
        "audio": np.zeros((3, 1, 5), np.float16),
        "audio.kept": np.array([0, 1, 0]),
        "audio.mean": np.zeros((3, 5), np.float32),
        "tokens": np.array([[1, 2], [0, 0], [3, 0]], np.int32),
        "clip_key": np.array([7, 8, 9]),
        "video_key": np.array([7, 8, 9]),
        "caption_key": np.array([1, 0, 3]),
    }


def test_masks_and_presence_follow_from_the_frames_kept() -> None:
    batch = frame_batch(columns(), ["video", "audio"])
    assert batch.mask["video"].tolist() == [[True] * 4, [True, False, False, False], [False] * 4]
    assert batch.mask["audio"].tolist() == [[False], [True], [False]]
    assert batch.present["video"].tolist() == [True, True, False]
    assert batch.present["audio"].tolist() == [False, True, False]
    assert batch.text_present.tolist() == [True, False, True]
    assert (batch.frames["video"].dtype, batch.mean["video"].dtype) == (torch.float16, torch.float32)
    assert (batch.rows, batch.tokens.dtype) == (3, torch.int64)
    assert batch.keys.video.tolist() == [7, 8, 9]
    assert batch.keys.caption.tolist() == [1, 0, 3]


def test_features_share_memory_with_columns_that_may_be_read_only() -> None:
    settings = columns()
    settings["video"].flags.writeable = False
    batch = frame_batch(settings, ["video"])
    assert batch.frames.keys() == {"video"}
    assert batch.frames["video"].data_ptr() == settings["video"].ctypes.data
    assert batch.to("cpu").frames["video"] is batch.frames["video"]


def test_pieces_make_the_batch() -> None:
    batch = frame_batch(columns(), ["video", "audio"])
    pieces = batch.split(2)
    assert [piece.rows for piece in pieces] == [2, 1]
    for name in ("frames", "mask", "mean", "present"):
        for feature in ("video", "audio"):
            parts = [vars(piece)[name][feature] for piece in pieces]
            assert torch.equal(torch.cat(parts), vars(batch)[name][feature])
    for name in ("tokens", "clip_key", "video_key", "caption_key"):
        assert torch.equal(torch.cat([vars(piece)[name] for piece in pieces]), vars(batch)[name])
