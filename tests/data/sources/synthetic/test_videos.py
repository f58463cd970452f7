"""The source of described videos: splits, features and captions as promised; and that the world can be learned."""

import pickle

import numpy as np

from vtr_core.data.sources.source import Drops, VideoSource
from vtr_core.data.sources.synthetic import SyntheticVideos
from vtr_core.text.tokens.vocabulary import Vocabulary, word_counts

WORLD = SyntheticVideos(num_videos=100, dim=16)


def test_videos_are_split_into_three() -> None:
    assert isinstance(WORLD, VideoSource)
    videos = WORLD.videos(Drops())
    shares = {name: sum(video.split == name for video in videos) for name in ("train", "val", "test")}
    assert sum(shares.values()) == len({video.video_id for video in videos}) == 100
    assert shares["train"] > 65
    assert min(shares.values()) >= 3


def test_videos_have_what_the_features_promise_and_their_captions() -> None:
    assert [(feature.name, feature.dim) for feature in WORLD.features()] == [("video", 16)]
    videos = WORLD.videos(Drops())[:9]
    made = [WORLD.video(video, Drops(strict=True)) for video in videos]
    assert all(8 <= len(video.features["video"]) <= 24 and video.features["video"].shape[1] == 16 for video in made)
    assert list(WORLD.captions(videos)) == [caption for video in made for caption in video.captions]


def test_a_copy_elsewhere_makes_the_same_videos() -> None:
    video = WORLD.videos(Drops())[42]
    first = WORLD.video(video, Drops())
    second = pickle.loads(pickle.dumps(WORLD)).video(video, Drops())
    assert (first.video_id, first.captions) == (second.video_id, second.captions)
    np.testing.assert_array_equal(first.features["video"], second.features["video"])


def test_settings_tell_it_from_the_world_of_narrated_clips() -> None:
    assert WORLD.settings()["records"] == "videos"
    assert WORLD.settings()["num_videos"] == 100


def test_the_world_can_be_learned() -> None:
    """Ridge regression from mean frames to words finds a caption's video far more often than chance, not always."""
    world = SyntheticVideos(num_videos=1000)
    videos = world.videos(Drops())
    captions = world.captions([video for video in videos if video.split == "train"])
    words = Vocabulary.from_counts(word_counts(captions, "words"))

    def arrays(split: str) -> tuple[np.ndarray, np.ndarray]:
        made = [world.video(video, Drops()) for video in videos if video.split == split]
        counts = np.zeros((len(made), 5, len(words) + 1))
        for row, video in zip(counts, made, strict=True):
            for bag, caption in zip(row, video.captions, strict=True):
                bag[words.known(caption)] = 1
        return np.stack([video.features["video"].mean(axis=0, dtype=np.float64) for video in made]), counts[..., 1:]

    (seen, told), (x, y) = arrays("train"), arrays("test")
    mean, scale = seen.mean(axis=0), seen.std(axis=0)
    z, target = (seen - mean) / scale, told.mean(axis=1)
    weights = np.linalg.solve(z.T @ z + 20 * np.eye(z.shape[1]), z.T @ (target - target.mean(axis=0)))
    predicted = (x - mean) / scale @ weights
    scores = y.reshape(-1, len(words)) @ predicted.T
    own = np.repeat(np.arange(len(x)), 5)
    ranks = (scores > scores[np.arange(len(own)), own][:, None]).sum(axis=1)
    recall = (ranks < 10).mean()
    assert 4 * 10 / len(x) < recall < 0.95
