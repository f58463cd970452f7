import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.worlds.narrated_videos import ACTION, AGENT, PLACE, Recorder, SyntheticSettings, Truth, scenes, truth

WORLD = SyntheticSettings(num_clips=600, dim_2d=48, dim_3d=32, dim_audio=16)


def still(concepts):
    """A video whose clips have the given concepts."""
    rows = np.array(concepts)
    times = np.arange(len(rows), dtype=np.float64)
    return Truth(rows, times, times + 1)


def test_streams_are_unit_vectors_that_are_nowhere_negative():
    for video in range(20):
        for features in Recorder(WORLD).record(video, truth(WORLD, video)):
            assert features["video"].dtype == np.float16
            assert features["video"].shape == (80,)
            assert (features["video"] >= 0).all()
            for part in (features["video"][:48], features["video"][48:], features.get("audio")):
                assert part is None or abs(np.linalg.norm(part.astype(np.float64)) - 1) < 2e-3


def test_features_do_not_depend_on_the_size_of_the_world_or_on_who_records():
    larger = WORLD.model_copy(update={"num_clips": 10**6})
    for first, second in zip(
        Recorder(WORLD).record(7, truth(WORLD, 7)), Recorder(larger).record(7, truth(larger, 7)), strict=True
    ):
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[name], second[name]) for name in first)


def test_audio_is_missing_as_often_as_asked():
    world = WORLD.model_copy(update={"missing_audio": 0.3})
    recorder = Recorder(world)
    clips = [features for video in range(300) for features in recorder.record(video, truth(world, video))]
    assert abs(np.mean(["audio" not in features for features in clips]) - 0.3) < 0.04


def test_each_stream_shows_its_own_slots():
    world = WORLD.model_copy(update={"noise": 0.0, "style": 0.0, "missing_audio": 0.0})
    base = [1, 2, 3, 4, 5]
    rows = [base] + [[value + (slot == changed) for slot, value in enumerate(base)] for changed in range(5)]
    clips = Recorder(world).record(0, still(rows))

    def changes(name, part=slice(None)):
        return {slot for slot in range(5) if not np.array_equal(clips[0][name][part], clips[slot + 1][name][part])}

    assert changes("video", slice(48)) == {AGENT, 2, 3, PLACE}
    assert changes("video", slice(48, None)) == {AGENT, ACTION, 2}
    assert changes("audio") == {ACTION, 3}


def test_clips_that_show_the_same_are_close_and_noise_tells_them_apart():
    world = WORLD.model_copy(update={"style": 0.0})
    same, twin, other = (
        features["video"].astype(np.float64)
        for features in Recorder(world).record(0, still([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]))
    )
    assert same @ other < same @ twin < 1.99


SCENES = SyntheticSettings(dim_2d=400, dim_3d=400, dim_audio=16, noise=0.0, style=0.0, missing_audio=0.0, scenes=4)


def videos_by_scene(concepts, count=40):
    """The video features of clips that show `concepts`, with their scenes."""
    recorder, content = Recorder(SCENES), still([concepts])
    return [
        (int(scenes(SCENES, video, content)[0]), recorder.record(video, content)[0]["video"].astype(np.float64))
        for video in range(count)
    ]


def test_a_scene_decides_what_the_same_concepts_look_like():
    seen = videos_by_scene([0, 1, 2, 3, 4])
    assert {scene for scene, _ in seen} == {0, 1, 2, 3}
    for scene, features in seen[1:]:
        assert np.array_equal(features, seen[0][1]) == (scene == seen[0][0])


def test_in_a_scene_other_concepts_look_otherwise():
    same, other = videos_by_scene([0, 1, 2, 3, 4]), videos_by_scene([0, 1, 2, 3, 5])
    assert all(not np.array_equal(a, b) for (_, a), (_, b) in zip(same, other, strict=True))


def test_a_world_without_scenes_has_none():
    assert scenes(WORLD, 3, still([[0, 1, 2, 3, 4]])) is None


def test_a_named_scene_is_the_place() -> None:
    named = SCENES.model_copy(update={"named_scenes": True})
    clips = still([[0, 1, 2, 3, place] for place in (0, 3, 4, 9)])
    assert scenes(named, 7, clips).tolist() == [0, 3, 0, 1]
    with pytest.raises(ValidationError, match="named_scenes needs scenes, the number of scenes, such as 8"):
        SyntheticSettings(named_scenes=True)
