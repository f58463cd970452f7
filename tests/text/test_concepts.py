"""Concepts of captions, stop words and ambiguous words."""

import random

import numpy as np
import pytest

from tests.reference import concepts as slow_concepts
from tests.text.tagged import tagged
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead
from vtr_core.text.concepts import (
    STOP_WORDS,
    ConceptSettings,
    ambiguous_lemmas,
    ambiguous_words,
    caption_concepts,
    counted_concepts,
    frequencies,
    kept_counts,
    part_counts,
    ranked,
)
from vtr_core.text.tagging.tagger import Part, TaggedWord

CAPTIONS = [
    tagged("I/PRON play/VERB the/DET main/ADJ character/NOUN in/ADP a/DET play/NOUN"),
    tagged("they/PRON play/VERB in/ADV the/DET water/NOUN"),
    *[tagged("they/PRON drink/VERB water/NOUN")] * 9,
    tagged("water/VERB flowers:flower/NOUN"),
    tagged("lego/PROPN and/CCONJ lego/NOUN"),
]


def test_words_are_counted_by_part_without_function_words():
    counts = part_counts(CAPTIONS)
    assert counts["play", Part.VERB] == 2
    assert counts["lego", Part.NOUN] == 2
    assert not any(word in ("in", "and", "the") for word, _ in counts)


def test_a_word_is_ambiguous_if_its_second_part_is_frequent_enough():
    counts = part_counts(CAPTIONS)
    assert ambiguous_words(counts) == {"play", "water"}
    assert ambiguous_words(counts, 1 / 11) == {"play", "water"}
    assert ambiguous_words(counts, 0.1) == {"play"}
    assert ambiguous_words({}) == frozenset()


def test_a_caption_is_ambiguous_if_a_lemma_has_two_parts_of_speech_in_it():
    def tagged(text):
        return [TaggedWord(*part.split(":")) for part in text.split()]

    assert ambiguous_lemmas(tagged("water:water:VERB the:the:DET plants:plant:NOUN in:in:ADP water:water:NOUN")) == {
        "water"
    }
    assert ambiguous_lemmas(tagged("cooks:cook:VERB for:for:ADP a:a:DET cook:cook:NOUN")) == {"cook"}
    assert not ambiguous_lemmas(tagged("water:water:NOUN under:under:ADP water:water:NOUN up:up:ADV up:up:ADP"))


def test_labels_count_occurrences_or_captions():
    caption = [TaggedWord("dog", "dog", "NOUN"), TaggedWord("dogs", "dog", "NOUN"), TaggedWord("runs", "run", "VERB")]
    by_captions = ConceptSettings(count="captions")
    assert counted_concepts(caption, ConceptSettings()) == ["dog", "dog", "run"]
    assert counted_concepts(caption, by_captions) == caption_concepts(caption, ConceptSettings()) == ["dog", "run"]
    twice = [["dog", "dog", "run"], ["dog"], ["run"]]
    assert kept_counts(twice, 2) == {"dog": 3, "run": 2}
    assert kept_counts([["dog", "dog"], ["cat"]], 2) == {}  # of two captions, not twice in one


ALL = ConceptSettings(tuple(Part), pos=True)


def test_concepts_are_lemmas_of_the_wanted_parts_without_function_words():
    caption = tagged(
        "two/NUM men:man/NOUN are:be/AUX quickly/ADV slicing:slice/VERB red/ADJ onions:onion/NOUN man/NOUN"
    )
    assert caption_concepts(caption, ConceptSettings()) == ["man", "slice", "red", "onion"]
    assert caption_concepts(caption, ConceptSettings((Part.ADVERB,))) == ["quickly"]
    assert caption_concepts(tagged("inside/ADP of/ADP others:other/NOUN don/VERB t/NOUN"), ALL) == [
        "inside/preposition"
    ]


def test_with_pos_a_measure_is_not_to_measure():
    caption = tagged("measure/VERB a/DET measure/NOUN")
    assert caption_concepts(caption, ConceptSettings(pos=True)) == ["measure/verb", "measure/noun"]
    assert caption_concepts(caption, ConceptSettings()) == ["measure"]


@pytest.mark.parametrize("pos", [False, True])
@pytest.mark.parametrize("min_captions", [1, 2])
def test_names_and_labels_agree_with_the_slow_reference(pos, min_captions):
    draw = random.Random(7)
    words = [TaggedWord(f"word{i}s", f"word{i}", "") for i in range(12)] + [TaggedWord("the", "the", "")]
    videos = [
        [
            [word._replace(pos=draw.choice(["NOUN", "VERB", "ADJ", "ADV", "DET"])) for word in draw.choices(words, k=6)]
            for _ in range(5)
        ]
        for _ in range(9)
    ] + [[]]
    settings = ConceptSettings(pos=pos)
    expected = slow_concepts.kept(videos, STOP_WORDS, ("noun", "verb", "adjective"), pos, min_captions)
    kept = [kept_counts([caption_concepts(c, settings) for c in video], min_captions) for video in videos]
    assert kept == expected
    names = ranked(frequencies(kept))
    assert list(names[:8]) == slow_concepts.vocabulary(expected, 8)
    keys = list(range(len(videos)))
    counts = ConceptCounts.from_kept(keys, kept, names)
    dataset = CountedSet("u", "f", len(videos), 45, min_captions)
    table = ConceptTable("t", TableHead("t", "f", (), pos, names, (0,) * len(names), (dataset,)), counts)
    found = table.soft_labels(np.array(keys), 8)
    slow = np.array([slow_concepts.labels(counts, names[:8]) for counts in expected], np.float32)
    np.testing.assert_array_equal(found, slow)
    assert found[:-1].max(axis=1).min() < 1  # somewhere the strongest concept is outside the vocabulary


def test_nltks_stop_words_leave_prepositions_and_adverbs_that_our_list_takes_away():
    caption = tagged("dog/NOUN near/ADP a/DET man/NOUN and/CCONJ although/SCONJ in/ADP really/ADV")
    assert caption_concepts(caption, ALL) == ["dog/noun", "man/noun"]
    nltk = ConceptSettings(tuple(Part), stop_words="nltk")
    assert caption_concepts(caption, nltk) == ["dog", "near", "man", "although", "really"]
