import pickle

import numpy as np

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.data.worlds.narrated_videos import indices

WORLD = Synthetic(num_clips=600, dim_2d=24, dim_3d=16, dim_audio=8)


def test_videos_are_split_by_video_into_three():
    videos = WORLD.videos(Drops())
    assert len({video.video_id for video in videos}) == len(videos) == 100
    shares = {name: sum(video.split == name for video in videos) for name in ("train", "val", "test")}
    assert sum(shares.values()) == 100
    assert shares["train"] > 65
    assert min(shares.values()) >= 3


def test_clips_have_what_the_features_promise():
    assert [(feature.name, feature.dim) for feature in WORLD.features()] == [("video", 40), ("audio", 8)]
    drops = Drops(strict=True)
    for video in WORLD.videos(drops):
        clips = list(WORLD.clips(video, drops))
        assert [indices(clip.clip_id) for clip in clips] == [(video.content, place) for place in range(len(clips))]
        for clip in clips:
            assert {name: len(value) for name, value in clip.features.items()} in (
                {"video": 40},
                {"video": 40, "audio": 8},
            )


def test_captions_are_those_of_the_clips():
    videos = WORLD.videos(Drops())[:7]
    spoken = [clip.caption for video in videos for clip in WORLD.clips(video, Drops())]
    assert list(WORLD.captions(videos)) == spoken


def test_a_copy_elsewhere_makes_the_same_clips():
    list(WORLD.clips(WORLD.videos(Drops())[0], Drops()))
    copy = pickle.loads(pickle.dumps(WORLD))
    video = WORLD.videos(Drops())[42]
    for first, second in zip(WORLD.clips(video, Drops()), copy.clips(video, Drops()), strict=True):
        assert (first.clip_id, first.caption) == (second.clip_id, second.caption)
        assert all(np.array_equal(first.features[name], second.features[name]) for name in second.features)


def test_settings_are_json_and_hold_the_seed():
    assert WORLD.settings()["num_clips"] == 600
    assert WORLD.settings()["seed"] == 0


def test_the_world_can_be_learned():
    """Ridge regression from words to features finds a narration's clip far more often than chance, and not always."""
    world = Synthetic(num_clips=3000)
    from vtr_core.text.tokens.vocabulary import Vocabulary, word_counts

    parts = {"train": [], "test": []}
    for video in world.videos(Drops()):
        if video.split in parts:
            parts[video.split] += world.clips(video, Drops())
    vocabulary = Vocabulary.from_counts(word_counts((clip.caption for clip in parts["train"]), "words"))

    def arrays(clips):
        words = np.zeros((len(clips), len(vocabulary) + 1))
        for row, clip in zip(words, clips, strict=True):
            row[vocabulary.encode(clip.caption, 50)] = 1
        return words[:, 1:], np.stack([clip.features["video"] for clip in clips]).astype(np.float64)

    (words, seen), (test_words, test_seen) = arrays(parts["train"]), arrays(parts["test"])
    mean = seen.mean(axis=0)
    weights = np.linalg.solve(words.T @ words + 10 * np.eye(words.shape[1]), words.T @ (seen - mean))
    scores = (test_words @ weights) @ ((test_seen - mean) / np.linalg.norm(test_seen - mean, axis=1, keepdims=True)).T
    found = ((scores > np.diag(scores)[:, None]).sum(axis=1) < 10).mean()
    assert 10 / len(scores) * 5 < found < 0.9
