"""The source of small things: splits, features and captions as promised; and that patches hold what [CLS] lacks."""

import pickle

import numpy as np

from vtr_core.data.sources.source import Drops, Video, VideoSource
from vtr_core.data.sources.synthetic import SyntheticTokens

WORLD = SyntheticTokens(num_videos=200, dim=16)


def made(split: str) -> list[Video]:
    return [WORLD.video(video, Drops()) for video in WORLD.videos(Drops()) if video.split == split]


def test_videos_are_split_into_three_and_have_what_the_features_promise() -> None:
    assert isinstance(WORLD, VideoSource)
    shares = {name: len(made(name)) for name in ("train", "val", "test")}
    assert sum(shares.values()) == 200
    assert shares["train"] > 130
    assert min(shares.values()) >= 8
    assert [(feature.name, feature.dim) for feature in WORLD.features()] == [("video", 17 * 16), ("text", 16)]
    for video in made("test"):
        assert video.features["video"].shape == (2, 17 * 16)
        assert video.features["text"].shape == (4, 16)
        assert len(video.captions) == 4


def test_a_copy_elsewhere_makes_the_same_videos() -> None:
    video = WORLD.videos(Drops())[42]
    first, second = WORLD.video(video, Drops()), pickle.loads(pickle.dumps(WORLD)).video(video, Drops())
    assert (first.video_id, first.captions) == (second.video_id, second.captions)
    for name in ("video", "text"):
        np.testing.assert_array_equal(first.features[name], second.features[name])


def test_the_strongest_patch_finds_the_caption_and_cls_does_not() -> None:
    """Among the test videos; what stands out of a frame's own mean is the thing."""
    videos = made("test")
    tokens = np.stack([video.features["video"].reshape(2, 17, 16).astype(np.float64) for video in videos])
    texts = np.stack([video.features["text"][0].astype(np.float64) for video in videos])
    texts -= texts.mean(axis=0)
    patches, own = tokens[:, :, 1:], np.arange(len(videos))
    standing_out = (patches - patches.mean(axis=2, keepdims=True)).reshape(len(videos), -1, 16)
    strongest = standing_out[own, np.linalg.norm(standing_out, axis=2).argmax(axis=1)]

    def found(queries: np.ndarray) -> float:
        scores = queries @ texts.T / np.linalg.norm(texts, axis=1)
        return float((scores.argmax(axis=1) == own).mean())

    assert found(strongest) > 0.5
    assert found(tokens[:, :, 0].mean(axis=1)) < 0.3
