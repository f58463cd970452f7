from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.worlds.narrated_videos import (
    ACTION,
    AGENT,
    OBJECT,
    PLACE,
    SLOTS,
    TOOL,
    SyntheticSettings,
    captions,
    clip_id,
    indices,
    lexicon,
    neighbours,
    truth,
    video_id,
)
from vtr_core.text.tokens.vocabulary import tokenise

WORLD = SyntheticSettings(num_clips=1500, seed=5)


def mentioned(settings, caption):
    meanings = lexicon(settings.num_concepts)
    return dict(meanings[word] for word in tokenise(caption) if word in meanings)


def truths(settings):
    return [truth(settings, video) for video in range(settings.num_videos)]


def test_the_number_of_clips_is_about_what_was_asked_for():
    lengths = [len(content) for content in truths(WORLD)]
    assert sum(lengths) == pytest.approx(1500, rel=0.06)
    assert set(lengths) == set(range(3, 10))


def test_a_video_is_a_function_of_seed_and_index_alone():
    larger = SyntheticSettings(num_clips=10**7, seed=5)
    first, again = truth(WORLD, 17), truth(larger, 17)
    np.testing.assert_array_equal(first.concepts, again.concepts)
    np.testing.assert_array_equal(first.end, again.end)
    assert captions(WORLD, 17, first) == captions(larger, 17, again)
    other = SyntheticSettings(num_clips=3000, seed=6)
    assert captions(other, 17, truth(other, 17)) != captions(WORLD, 17, first)


def test_agent_and_place_stay_the_tool_mostly_and_the_rest_varies():
    same = np.zeros(len(SLOTS))
    contents = truths(WORLD)
    for content in contents:
        same += (content.concepts[1:] == content.concepts[0]).mean(axis=0)
    share = same / len(contents)
    assert share[[AGENT, PLACE]].tolist() == [1, 1]
    assert 0.6 < share[TOOL] < 0.9
    assert (share[[ACTION, OBJECT]] < 0.2).all()


def test_concepts_have_a_long_tail():
    agents = Counter(int(content.concepts[0, AGENT]) for content in truths(SyntheticSettings(num_clips=60000)))
    for concept in (0, 1, 9):
        expected = 10000 * (1 / (concept + 1)) / sum(1 / r for r in range(1, 41))
        assert agents[concept] == pytest.approx(expected, rel=0.15)
    assert len(agents) == 40


def test_clips_follow_each_other_in_time():
    for content in truths(WORLD)[:50]:
        assert (content.end > content.start).all()
        assert (content.start[1:] >= content.end[:-1]).all()
        assert content.start[0] >= 0


def test_ids_tell_video_and_clip():
    assert clip_id(12, 3) == "syn00000012_03"
    assert clip_id(12, 3).startswith(video_id(12))
    assert indices(clip_id(1234567, 8)) == (1234567, 8)


def test_neighbours_are_the_clips_before_and_after():
    assert [neighbours(clip, 3) for clip in range(3)] == [[1], [0, 2], [1]]
    assert neighbours(0, 1) == []


def test_without_misalignment_narrations_tell_the_truth():
    world = WORLD.model_copy(update={"misalignment": 0.0})
    for video in range(100):
        content = truth(world, video)
        for concepts, caption in zip(content.concepts, captions(world, video, content), strict=True):
            told = mentioned(world, caption)
            assert told
            assert all(concepts[slot] == concept for slot, concept in told.items())


def test_narrations_tell_of_a_neighbour_as_often_as_asked():
    world = SyntheticSettings(num_clips=1800, misalignment=0.3, mention=1.0, num_concepts=1000, zipf=0.0)
    told = Counter()
    for video in range(world.num_videos):
        content = truth(world, video)
        for clip, caption in enumerate(captions(world, video, content)):
            action = mentioned(world, caption)[ACTION]
            told.update(
                {
                    "own": int(action == content.concepts[clip, ACTION]),
                    "neighbour": int(action in content.concepts[neighbours(clip, len(content)), ACTION]),
                }
            )
    total = sum(len(content) for content in truths(world))
    assert told["own"] / total == pytest.approx(0.7, abs=0.035)
    assert told["neighbour"] / total == pytest.approx(0.3, abs=0.035)


def test_slots_are_mentioned_as_often_as_asked_and_never_none():
    counts = np.zeros(len(SLOTS))
    rows = 0
    for video in range(WORLD.num_videos):
        for caption in captions(WORLD, video, truth(WORLD, video)):
            told = mentioned(WORLD, caption)
            assert told
            counts[list(told)] += 1
            rows += 1
    nothing = (1 - WORLD.mention) ** len(SLOTS)
    np.testing.assert_allclose(counts / rows, WORLD.mention + nothing / len(SLOTS), atol=0.04)


@pytest.mark.parametrize(
    "changes",
    [
        {"misalignment": 1.0},
        {"mention": 0.0},
        {"num_clips": 0},
        {"noise": -1},
        {"min_clips": 9, "max_clips": 3},
        {"clips": 10},
    ],
)
def test_settings_that_make_no_world_are_errors(changes):
    with pytest.raises(ValidationError):
        SyntheticSettings(**changes)
