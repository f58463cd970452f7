"""Concepts of clips: content words of all captions, once, in enough videos."""

import numpy as np

from vtr_core.analysis.concept_profiles import clip_concepts, concept_words


def test_captions_give_their_content_words_once_in_lower_case() -> None:
    captions = ["A Dog is chasing THE ball", "it's the dog, again!", "we don't know 42 x"]
    assert concept_words(captions) == {"dog", "chasing", "ball", "know"}


def test_a_word_must_occur_in_enough_videos_not_clips() -> None:
    words = [{"dog", "ball"}, {"dog"}, {"dog", "ball"}, set(), {"ball"}]
    found = clip_concepts(words, np.array([7, 7, 7, 8, 9]), min_videos=2)
    assert found.words == ("ball",)  # three clips name a dog, all of one video
    assert found.mentions.toarray().ravel().tolist() == [1, 0, 1, 0, 1]
