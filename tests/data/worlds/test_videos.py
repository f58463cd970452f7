"""The world of described videos: what stays in a video, what captions tell, and that nothing else decides it."""

from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.worlds.described_videos import (
    ACTION,
    AGENT,
    CONCEPTS,
    LOOK,
    OBJECT,
    PLACE,
    SyntheticVideoSettings,
    descriptions,
    video_content,
)
from vtr_core.text.tokens.vocabulary import tokenise

WORLD = SyntheticVideoSettings(num_videos=200, seed=4)
MEANINGS = {
    word: (slot, concept)
    for slot, concepts in enumerate(CONCEPTS)
    for concept, names in enumerate(concepts)
    for word in names
}


def test_no_word_names_two_concepts() -> None:
    assert len(MEANINGS) == sum(len(names) for concepts in CONCEPTS for names in concepts)


def test_look_agent_and_place_stay_and_every_scene_is_shown() -> None:
    lengths, scenes = Counter(), Counter()
    for video in range(200):
        content = video_content(WORLD, video)
        assert (content.concepts[:, [LOOK, AGENT, PLACE]] == content.concepts[0, [LOOK, AGENT, PLACE]]).all()
        assert np.unique(content.scene).tolist() == list(range(len(content.concepts)))
        assert (np.diff(content.scene) >= 0).all()
        lengths[len(content.scene)] += 1
        scenes[len(content.concepts)] += 1
    assert set(lengths) == set(range(8, 25))
    assert set(scenes) == {1, 2, 3}


def test_a_caption_tells_of_one_scene_and_names_its_action_or_object() -> None:
    for video in range(200):
        content = video_content(WORLD, video)
        told = descriptions(WORLD, video, content)
        assert len(told) == 5
        for caption in told:
            named = dict(MEANINGS[word] for word in tokenise(caption) if word in MEANINGS)
            assert ACTION in named or OBJECT in named
            assert any(all(scene[slot] == concept for slot, concept in named.items()) for scene in content.concepts)


def test_captions_of_a_video_agree_on_its_concepts() -> None:
    """At least two captions name the same concept, as concept vocabularies want it."""
    for video in range(100):
        told = descriptions(WORLD, video, video_content(WORLD, video))
        named = Counter(MEANINGS[word] for caption in told for word in set(tokenise(caption)) if word in MEANINGS)
        assert max(named.values()) >= 2


def test_a_video_is_a_function_of_seed_and_index_alone() -> None:
    larger = WORLD.model_copy(update={"num_videos": 10**6})
    first, again = video_content(WORLD, 17), video_content(larger, 17)
    np.testing.assert_array_equal(first.concepts, again.concepts)
    assert descriptions(WORLD, 17, first) == descriptions(larger, 17, again)
    other = SyntheticVideoSettings(num_videos=200, seed=5)
    assert descriptions(other, 17, video_content(other, 17)) != descriptions(WORLD, 17, first)


def test_ranges_must_not_be_empty() -> None:
    for bad in ({"min_frames": 9, "max_frames": 8}, {"min_scenes": 4}, {"min_frames": 2, "max_scenes": 3}):
        with pytest.raises(ValidationError, match="must be at least"):
            SyntheticVideoSettings(**bad)
