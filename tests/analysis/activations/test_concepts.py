"""Concepts of clips: content words of all captions, once, in enough videos."""

import numpy as np
import pytest

from vtr_core.analysis.concept_profiles import clip_concepts, concept_words
from vtr_core.text.concepts import is_concept


def test_captions_give_their_content_words_once_in_lower_case() -> None:
    captions = ["A Dog is chasing THE ball", "it's the dog, again!", "we don't know 42 x"]
    assert concept_words(captions) == {"dog", "chasing", "ball", "know"}


@pytest.mark.parametrize("word", ["the", "it's", "can't", "didn't", "'s", "7", "x", "'", "we'll", "_"])
def test_function_words_name_nothing(word: str) -> None:
    assert not is_concept(word)


@pytest.mark.parametrize("word", ["dog", "dog's", "c3po", "o'clock", "käse"])
def test_content_words_do(word: str) -> None:
    assert is_concept(word)


def test_a_word_must_occur_in_enough_videos_not_clips() -> None:
    words = [{"dog", "ball"}, {"dog"}, {"dog", "ball"}, set(), {"ball"}]
    found = clip_concepts(words, np.array([7, 7, 7, 8, 9]), min_videos=2)
    assert found.words == ("ball",)  # three clips name a dog, all of one video
    assert found.mentions.toarray().ravel().tolist() == [1, 0, 1, 0, 1]


def test_words_are_in_alphabetical_order() -> None:
    found = clip_concepts([{"b"}, {"a", "b"}, set(), {"a"}], np.arange(4), min_videos=1)
    assert found.words == ("a", "b")
    assert found.mentions.toarray().tolist() == [[0, 1], [1, 1], [0, 0], [1, 0]]


def test_no_words_at_all() -> None:
    found = clip_concepts([set(), set()], np.arange(2), min_videos=1)
    assert (found.words, found.mentions.shape) == ((), (2, 0))
