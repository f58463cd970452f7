"""Narrated videos: a function of seed and index; narrations and features tell of their clip as often as asked."""

import pickle
from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.data.worlds.narrated_videos import (
    Recorder,
    SyntheticSettings,
    Truth,
    captions,
    indices,
    scenes,
    truth,
)
from vtr_core.text.tokens.vocabulary import Vocabulary, word_counts

WORLD = SyntheticSettings(num_clips=1500, seed=5, dim_2d=48, dim_3d=32, dim_audio=16)
SOURCE = Synthetic(num_clips=600, dim_2d=24, dim_3d=16, dim_audio=8)


def still(concepts: list[list[int]]) -> Truth:
    """A video whose clips have the given concepts."""
    times = np.arange(len(concepts), dtype=np.float64)
    return Truth(np.array(concepts), times, times + 1)


def test_a_video_is_a_function_of_seed_and_index_alone() -> None:
    larger, other = (WORLD.model_copy(update=change) for change in ({"num_clips": 10**7}, {"seed": 6}))
    first, again = truth(WORLD, 17), truth(larger, 17)
    np.testing.assert_array_equal(first.concepts, again.concepts)
    assert captions(WORLD, 17, first) == captions(larger, 17, again) != captions(other, 17, truth(other, 17))
    for clip, same in zip(Recorder(WORLD).record(17, first), Recorder(larger).record(17, again), strict=True):
        assert clip.keys() == same.keys()
        assert all(np.array_equal(clip[name], same[name]) for name in clip)


def test_a_scene_decides_what_concepts_look_like() -> None:
    settings = WORLD.model_copy(update={"noise": 0.0, "style": 0.0, "missing_audio": 0.0, "scenes": 4})
    content, other, recorder = still([[0, 1, 2, 3, 4]]), still([[0, 1, 2, 3, 5]]), Recorder(settings)
    drawn = [scenes(settings, video, content) for video in range(40)]
    looks = [recorder.record(video, content)[0]["video"] for video in range(40)]
    assert {int(scene[0]) for scene in drawn if scene is not None} == {0, 1, 2, 3}
    for scene, look in zip(drawn, looks, strict=True):
        assert np.array_equal(look, looks[0]) == (scene == drawn[0])
    assert not np.array_equal(recorder.record(0, other)[0]["video"], looks[0])
    assert scenes(WORLD, 3, content) is None
    by_place = scenes(
        settings.model_copy(update={"named_scenes": True}), 7, still([[0, 1, 2, 3, p] for p in (0, 3, 9)])
    )
    assert by_place is not None
    assert by_place.tolist() == [0, 3, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"misalignment": 1.0},
        {"mention": 0.0},
        {"noise": -1},
        {"min_clips": 9, "max_clips": 3},
        {"clips": 10},
        {"named_scenes": True},
    ],
)
def test_settings_that_make_no_world_are_errors(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SyntheticSettings(**changes)  # type: ignore[arg-type]


def test_the_source_has_what_it_promises_and_a_copy_the_same() -> None:
    videos, copy = SOURCE.videos(Drops()), pickle.loads(pickle.dumps(SOURCE))
    shares = Counter(video.split for video in videos)
    assert (sum(shares.values()), set(shares)) == (100, {"train", "val", "test"})
    assert shares["train"] > 65
    assert [(feature.name, feature.dim) for feature in SOURCE.features()] == [("video", 40), ("audio", 8)]
    for video in videos[:20]:
        clips = list(SOURCE.clips(video, Drops(strict=True)))
        assert [indices(clip.clip_id) for clip in clips] == [(video.content, place) for place in range(len(clips))]
        assert list(SOURCE.captions([video])) == [clip.caption for clip in clips]
        for clip, same in zip(clips, copy.clips(video, Drops()), strict=True):
            assert {name: len(vector) for name, vector in clip.features.items()}.items() <= {
                "video": 40,
                "audio": 8,
            }.items()
            assert all(np.array_equal(clip.features[name], same.features[name]) for name in clip.features)


def test_the_world_can_be_learned() -> None:
    """Ridge regression from words to features finds a narration's clip far more often than chance, and not always."""
    source = Synthetic(num_clips=3000)
    clips = {split: [] for split in ("train", "val", "test")}
    for video in source.videos(Drops()):
        clips[video.split] += source.clips(video, Drops())
    vocabulary = Vocabulary.from_counts(word_counts((clip.caption for clip in clips["train"]), "words"))

    def arrays(split: str) -> tuple[np.ndarray, np.ndarray]:
        words = np.zeros((len(clips[split]), len(vocabulary) + 1))
        for row, clip in zip(words, clips[split], strict=True):
            row[vocabulary.encode(clip.caption, 50)] = 1
        return words[:, 1:], np.stack([clip.features["video"] for clip in clips[split]]).astype(np.float64)

    (words, features), (test_words, test_features) = arrays("train"), arrays("test")
    mean = features.mean(axis=0)
    weights = np.linalg.solve(words.T @ words + 10 * np.eye(words.shape[1]), words.T @ (features - mean))
    centred = test_features - mean
    scores = (test_words @ weights) @ (centred / np.linalg.norm(centred, axis=1, keepdims=True)).T
    recall = ((scores > np.diag(scores)[:, None]).sum(axis=1) < 10).mean()
    assert 10 / len(scores) * 5 < recall < 0.9
