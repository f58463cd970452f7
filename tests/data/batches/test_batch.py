import warnings

import numpy as np
import torch

from vtr_core.data.batches import clip_batch


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


def test_read_only_columns_are_shared_too_without_a_warning():
    columns = _columns()
    for array in columns.values():
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = clip_batch(columns, ["video", "audio"])
    assert batch.features["video"].data_ptr() == columns["video"].ctypes.data
    assert batch.keys.clip.data_ptr() == columns["clip_key"].ctypes.data


def test_to_keeps_what_is_there_already():
    batch = clip_batch(_columns(), ["video"])
    assert batch.to("cpu").features["video"] is batch.features["video"]
    assert batch.to(torch.device("meta")).tokens.device.type == "meta"
