"""Frames show the concepts of their scene, and movement in how they follow each other."""

import numpy as np

from vtr_core.data.worlds.described_videos import PERIOD, Camera, SyntheticVideoSettings, VideoContent, video_content

WORLD = SyntheticVideoSettings(dim=64)
STILL = SyntheticVideoSettings(dim=64, noise=0, style=0)


def test_frames_are_float16_and_nowhere_negative() -> None:
    for video in range(10):
        content = video_content(WORLD, video)
        frames = Camera(WORLD).record(video, content)
        assert frames.dtype == np.float16
        assert frames.shape == (len(content.scene), 64)
        assert (frames >= 0).all()
        assert 0.3 < frames.mean() < 3


def test_frames_do_not_depend_on_the_size_of_the_world_or_on_who_records() -> None:
    larger = WORLD.model_copy(update={"num_videos": 10**6})
    content = video_content(WORLD, 7)
    np.testing.assert_array_equal(Camera(WORLD).record(7, content), Camera(larger).record(7, content))
    assert (Camera(WORLD).record(7, content) != Camera(WORLD).record(8, content)).any()


def test_a_scene_repeats_its_movement_and_another_looks_otherwise() -> None:
    one = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 9, 3, 8, 5]])
    content = VideoContent(one, np.repeat([0, 1], 2 * PERIOD))
    frames = Camera(STILL).record(0, content).astype(np.float64)
    np.testing.assert_allclose(frames[:PERIOD], frames[PERIOD : 2 * PERIOD], atol=4e-3)
    assert np.abs(frames[1] - frames[0]).mean() > 0.2
    assert np.abs(frames[2 * PERIOD] - frames[0]).mean() > 0.3
